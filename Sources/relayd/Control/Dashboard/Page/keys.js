// The keyboard. Keys without Ctrl, Alt or Meta, and not while something is typed.

import { $ } from './dom.js';

export function connectKeys(view, { nextTheme, toLive, drive }) {
  const keys = {
    '/': () => $('filter-text').select(),
    j: () => view.move(1),
    k: () => view.move(-1),
    ArrowDown: () => view.move(1),
    ArrowUp: () => view.move(-1),
    PageDown: () => view.move(20),
    PageUp: () => view.move(-20),
    Enter: () => view.open(),
    o: () => view.partner(),
    g: () => view.toEnd(false),
    G: () => view.toEnd(true),
    Home: () => view.toEnd(false),
    End: () => view.toEnd(true),
    p: () => view.togglePause(),
    f: () => view.setFollowing(!view.isFollowing),
    e: () => view.toggleFailed(),
    c: () => view.clear(),
    x: () => view.noFilters(),
    r: () => {
      if (!$('recordings-button').hidden) $('recordings').togglePopover();
    },
    l: toLive,
    d: () => {
      if (!$('drive-button').hidden) drive.toggle();
    },
    s: () => view.detail.edit(),
    t: nextTheme,
    '?': () => $('help').showModal(),
  };
  /** Only where the list has the focus: elsewhere they scroll, or press a button. */
  const ofList = new Set(['ArrowDown', 'ArrowUp', 'PageDown', 'PageUp', 'Home', 'End', 'Enter']);

  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector('dialog[open]:not(#drive)')) return;
    // The drawer has keys of its own.
    if ($('drive').contains(event.target)) return;
    const { target } = event;
    const isTyping = target.closest('input, select, textarea') !== null;
    if (event.key === 'Escape') {
      // Escape closes a menu by itself.
      if (target.closest('[popover]')) return;
      // Nothing has the focus when what had it in the drawer is hidden.
      if (target === document.body && drive.isOpen) {
        drive.close();
        return;
      }
      if (isTyping) {
        // The browser would empty the box, and nobody would see what is filtered.
        event.preventDefault();
        target.blur();
        $('list').focus();
      } else if (view.back()) {
        event.preventDefault();
      }
      return;
    }
    if (isTyping) {
      if (event.key === 'Enter' && target.id.startsWith('filter')) $('list').focus();
      return;
    }
    if (ofList.has(event.key) && target !== document.body && target !== $('list')) return;
    const act = keys[event.key];
    if (!act) return;
    event.preventDefault();
    act();
    // From here on arrows and Enter are meant for the list.
    if ('jkgG'.includes(event.key) && !$('detail').contains(document.activeElement)) $('list').focus({ preventScroll: true });
  });
}
