/* ncurses 6 with wide characters, as Debian 12 has it, and what of it Swift cannot use: macros with casts
 * and variables that C programs change. */
#ifndef RELAY_NCURSES_SHIM_H
#define RELAY_NCURSES_SHIM_H

#define NCURSES_WIDECHAR 1
#include <curses.h>
#include <stdio.h>

/* newterm() on standard output and input; 0 when ncurses knows this terminal. */
static inline int relay_screen_open(const char *term) {
    return newterm(term, stdout, stdin) == NULL ? -1 : 0;
}

/* How keys arrive: one by one, function keys as one number, and never waited for. */
static inline void relay_screen_set_keys(void) {
    cbreak();
    noecho();
    nonl();
    nodelay(stdscr, TRUE);
    keypad(stdscr, TRUE);
}

/* What is on the terminal is not what ncurses has put there. */
static inline void relay_screen_forget(void) {
    clearok(curscr, TRUE);
}

/* Whether the cursor can be moved and the screen be cleared. */
static inline int relay_screen_is_addressable(void) {
    return tigetstr("cup") != NULL && tigetstr("cup") != (char *)-1 && tigetstr("clear") != NULL;
}

static inline int relay_screen_colours(void) {
    return COLORS;
}

static inline int relay_screen_pairs(void) {
    return COLOR_PAIRS;
}

/* Attributes of the parameters of ECMA-48's SGR: 1, 2, 4 and 7. */
static inline attr_t relay_screen_attribute(int parameter) {
    switch (parameter) {
    case 1: return A_BOLD;
    case 2: return A_DIM;
    case 4: return A_UNDERLINE;
    case 7: return A_REVERSE;
    default: return A_NORMAL;
    }
}

static inline void relay_screen_set_look(attr_t attributes, short pair) {
    attr_set(attributes, pair, NULL);
}

#endif
