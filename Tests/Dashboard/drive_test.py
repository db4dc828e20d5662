"""Driving the conversation from the dashboard, in headless Chromium against the built relayd: Scripts/test
runs it.

Each test is a scene: an RPC is composed, corrected and sent; a message is edited and sent again; a fault
rule is added, takes something and goes; a scenario runs; somebody who may only look is told why.
"""

import json
import os
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from bench import PATIENCE  # noqa: E402
from scenes import NAMES, ROWS, Scenes  # noqa: E402

DRIVE = "drive: {enabled: true}\n"
HOSTILE = '<img src=x onerror="window.owned=1">'
VERDICT = "document.querySelector('#compose-verdict')"
ANSWER = "document.querySelector('#compose-answer').textContent"
VALUE = "JSON.parse(document.querySelector('#compose-json').value)"


class DriveTests(Scenes):
    def bench(self, name="Radio", config=DRIVE, **size):
        """A relayd that may be driven, an app on its screen, and a page with the token and an open drawer."""
        relayd = self.relayd(accessory="sim:?lenient=on", config=config)
        app = self.app_on_screen(relayd, name, "radio-1")
        page = self.visit(relayd.relayctl("dashboard").strip(), **size)
        page.until("it may be driven", "!document.querySelector('#drive-button').hidden")
        page.key("d")
        page.until("the specification is there", "document.querySelectorAll('#compose-rpcs option').length > 50")
        page.until("the app can be chosen", "document.querySelector('#compose-app').options.length === 2")
        return relayd, app, page

    @staticmethod
    def put(page, selector, value):
        """Fills in a control, as a person would."""
        page.value(f"""(() => {{
            const control = document.querySelector({json.dumps(selector)});
            control.focus();
            control.value = {json.dumps(value)};
            control.dispatchEvent(new Event('input', {{ bubbles: true }}));
            control.dispatchEvent(new Event('change', {{ bubbles: true }}));
        }})()""")

    def parameter(self, page, path, value):
        self.put(page, f'[data-control="{path}"]', value)

    @staticmethod
    def wrong(path):
        return f"document.querySelector('[data-path=\"{path}\"] > .wrong').textContent"

    @staticmethod
    def said(relayd, function, kind="request"):
        """The parameters of what relayd has said of this function."""
        messages = relayd.get(f"/v1/messages?function={function}")["messages"]
        return [one.get("params") for one in messages if one.get("fate") == "by_relay" and one["kind"] == kind]

    def expect_said(self, relayd, function, expected, *, kind="request"):
        """Observers come behind the traffic, so they are asked until they have seen as much."""
        deadline = time.monotonic() + PATIENCE
        while len(said := self.said(relayd, function, kind)) < len(expected) and time.monotonic() < deadline:
            time.sleep(0.02)
        self.assertEqual(said, expected)

    def test_a_show_is_composed_corrected_and_sent(self):
        relayd, _, page = self.bench()
        self.put(page, "#compose-rpc", "Show")
        page.until("the form is there", "document.querySelector('[data-control=\"mainField1\"]')")
        self.parameter(page, "mainField1", "Hello")
        self.assertEqual(page.value(VALUE), {"mainField1": "Hello"})
        page.click('[data-control="softButtons there"]')
        page.click('[data-control="softButtons add"]')
        page.until("what is required is marked at once", f"/is required|is missing/.test({self.wrong('softButtons[0].softButtonID')})")
        page.until("relayd says the same", f"/softButtons\\[0\\].softButtonID is missing/.test({VERDICT}.textContent)")
        self.parameter(page, "softButtons[0].type", "TEXT")
        self.parameter(page, "softButtons[0].text", "Go")
        self.parameter(page, "softButtons[0].softButtonID", "70000")
        page.until("the range is told", f"/65[,]?535/.test({self.wrong('softButtons[0].softButtonID')})")
        page.until("relayd would refuse it", f"{VERDICT}.dataset.state === 'wrong' && /70000/.test({VERDICT}.textContent)")
        self.assertEqual(page.value("document.querySelector('[data-control=\"softButtons[0].softButtonID\"]').getAttribute('aria-invalid')"), "true")
        self.parameter(page, "softButtons[0].softButtonID", "7")
        page.until("nothing is wrong any more", f"{VERDICT}.dataset.state === 'right' && {self.wrong('softButtons[0].softButtonID')} === ''")
        self.assertEqual(self.said(relayd, "Show"), [], "a check says nothing")
        page.click("#compose-send")
        page.until("the answer is there, and how long it took", f"/SUCCESS after [0-9.]+ ms/.test({ANSWER})")
        self.expect_said(relayd, "Show", [
            {"mainField1": "Hello", "softButtons": [{"type": "TEXT", "text": "Go", "softButtonID": 7}]}])
        page.until("it is among the messages, marked", f"{ROWS}.some((row) => /by relayd/.test(row.textContent))")
        page.until("it is in the history", "/Show .*Hello/.test(document.querySelector('#compose-history-list').textContent)")
        lines = []
        deadline = time.monotonic() + PATIENCE
        while not lines and time.monotonic() < deadline:
            with open(os.path.join(relayd.directory, "log"), encoding="utf-8") as log:
                lines = [line for line in log if "drive: " in line]
        self.assertEqual(len(lines), 1, lines)
        self.assertIn("by the dashboard's token from 127.0.0.1", lines[0])
        self.expect_clean(page, f"127.0.0.1:{relayd.port}")

    def test_form_and_json_are_two_views_of_one_thing(self):
        relayd, _, page = self.bench()
        self.put(page, "#compose-rpc", "Alert")
        page.until("the form is there", "document.querySelector('[data-control=\"duration\"]')")
        self.put(page, "#compose-json", '{"alertText1": "Hi", "duration": 5, "playTone": true, "own": {"a": 1}}')
        self.assertEqual(page.value("['alertText1', 'duration', 'playTone'].map((name) => document.querySelector(`[data-control=\"${name}\"]`).value).join()"), "Hi,5,true")
        self.assertIn("not in the specification", page.value("document.querySelector('[data-path=own]').textContent"))
        page.until("the range is told in the form", f"/3,000 to 10,000|3000 to 10000/.test({self.wrong('duration')})")
        self.put(page, "#compose-json", '{"alertText1": "Hi", ')
        page.until("half JSON is no JSON", f"/^JSON: /.test({VERDICT}.textContent) && document.querySelector('#compose-send').disabled")
        self.put(page, "#compose-json", '{"alertText1": "Hi", "duration": 5000}')
        self.parameter(page, "playTone", "false")
        self.assertEqual(page.value(VALUE), {"alertText1": "Hi", "duration": 5000, "playTone": False})
        self.parameter(page, "playTone", "")
        self.assertEqual(page.value(VALUE), {"alertText1": "Hi", "duration": 5000})
        self.assertEqual(page.value("[...document.querySelector('[data-control=playTone]').options].map((one) => one.text).join()"), "absent,true,false")
        self.parameter(page, "duration", "5")
        page.until("relayd would refuse it", f"{VERDICT}.dataset.state === 'wrong'")
        page.click("#compose-unchecked")
        page.until("unchecked, it is said all the same", f"{VERDICT}.dataset.state === 'right'")
        self.expect_clean(page, f"127.0.0.1:{relayd.port}")

    def test_empty_on_purpose_is_not_absent(self):
        relayd, _, page = self.bench()
        self.put(page, "#compose-rpc", "Show")
        page.until("the form is there", "document.querySelector('[data-control=\"mainField1\"]')")
        state = "document.querySelector('[data-path=\"%s\"] .state').textContent"
        self.assertEqual(page.value(state % "mainField2"), "absent")
        page.click('[data-control="mainField2 there"]')
        self.assertEqual(page.value(state % "mainField2"), "empty on purpose")
        page.click('[data-control="softButtons there"]')
        self.parameter(page, "mainField1", "x")
        self.parameter(page, "mainField1", "")
        self.parameter(page, "mainField4", "gone")
        page.click('[data-control="mainField4 there"]')
        self.assertEqual(page.value(VALUE), {"mainField1": "", "mainField2": "", "softButtons": []})
        page.until("relayd would say it", f"{VERDICT}.dataset.state === 'right'")
        page.click("#compose-send")
        page.until("it is answered", f"/ after /.test({ANSWER})")
        self.expect_said(relayd, "Show", [{"mainField1": "", "mainField2": "", "softButtons": []}])
        self.expect_clean(page, f"127.0.0.1:{relayd.port}")

    def test_a_message_is_edited_and_sent_again(self):
        relayd, app, page = self.bench()
        page.key("Escape")
        page.until("Escape closes the drawer", "!document.querySelector('#drive').open")
        app.ask("Show", {"mainField1": "first", "softButtons": [{"type": "TEXT", "text": "A", "softButtonID": 1}]})
        page.until("the request is there", f"{NAMES}.includes('Show')")
        page.value(f"{ROWS}.find((row) => row.message.kind === 'request' && row.message.function === 'Show').click()")
        page.until("it can be edited", "[...document.querySelectorAll('#detail button')].some((one) => one.textContent === 'Edit and resend')")
        page.key("s")
        page.until("the composer has it", "document.querySelector('[data-control=\"softButtons[0].text\"]')?.value === 'A'")
        self.assertEqual(page.value("['app', 'way', 'type', 'rpc'].map((one) => document.querySelector(`#compose-${one}`).value).join()"), "1,send,request,Show")
        self.parameter(page, "softButtons[0].text", "B")
        page.click("#compose-send")
        page.until("it is answered", f"/SUCCESS after /.test({ANSWER})")
        self.expect_said(relayd, "Show", [{"mainField1": "first", "softButtons": [{"type": "TEXT", "text": "B", "softButtonID": 1}]}])
        page.key("Escape")
        # What the head unit has told the app is said to the app again.
        page.value(f"{ROWS}.find((row) => row.message.function === 'OnHMIStatus').click()")
        page.until("the notification is shown", "/OnHMIStatus/.test(document.querySelector('#detail h3').textContent)")
        page.value("[...document.querySelectorAll('#detail button')].find((one) => one.textContent === 'Edit and resend').click()")
        page.until("its way is kept", "['way', 'type', 'rpc'].map((one) => document.querySelector(`#compose-${one}`).value).join() === 'inject,notification,OnHMIStatus'")
        self.parameter(page, "hmiLevel", "BACKGROUND")
        page.click("#compose-send")
        page.until("it was said", f"/was said to app #1 \\(Radio\\) by relayd/.test({ANSWER})")
        first = relayd.get("/v1/messages?function=OnHMIStatus")["messages"][0]["params"]
        self.expect_said(relayd, "OnHMIStatus", [{**first, "hmiLevel": "BACKGROUND"}], kind="notification")
        self.expect_clean(page, f"127.0.0.1:{relayd.port}")

    def test_an_app_of_relayds_own_sends_and_leaves(self):
        relayd, _, page = self.bench()
        self.put(page, "#compose-app", "own")
        self.put(page, "#compose-rpc", "ListFiles")
        page.until("there is nothing to fill in", "/no parameters/.test(document.querySelector('#compose-form').textContent)")
        page.click("#compose-send")
        page.until("the head unit answers it", f"/SUCCESS after /.test({ANSWER})")
        page.until("the page follows it", "/RPC tester \\(app 2\\)/.test(document.querySelector('#compose-app').selectedOptions[0].text)")
        page.click("#compose-leave")
        page.until("it has left", f"/unregistered and left/.test({ANSWER})")
        self.expect_clean(page, f"127.0.0.1:{relayd.port}")

    def test_a_file_goes_in_pieces_with_checksums(self):
        relayd, _, page = self.bench()
        self.put(page, "#compose-rpc", "PutFile")
        page.until("the form is there", "document.querySelector('[data-control=syncFileName]')")
        self.parameter(page, "syncFileName", "icon")
        self.parameter(page, "fileType", "GRAPHIC_PNG")
        page.value("""(() => {
            const files = new DataTransfer();
            files.items.add(new File([new Uint8Array(600 * 1024).fill(7)], 'icon.png'));
            document.querySelector('#panel-compose').dispatchEvent(new DragEvent('drop', { dataTransfer: files, bubbles: true, cancelable: true }));
        })()""")
        self.assertIn("icon.png, 614400 bytes", page.value("document.querySelector('#compose-file-name').textContent"))
        page.click("#compose-send")
        page.until("the last piece is answered", f"/SUCCESS after /.test({ANSWER})")
        # The checksums by Python's zlib.
        file = {"syncFileName": "icon", "fileType": "GRAPHIC_PNG"}
        self.expect_said(relayd, "PutFile", [
            {**file, "offset": 0, "length": 614400, "crc": 0x82242CB4}, {**file, "offset": 524288, "length": 90112, "crc": 0xDC4006E9}])
        self.expect_clean(page, f"127.0.0.1:{relayd.port}")

    def test_who_may_only_look_is_told_why(self):
        relayd = self.relayd(accessory="sim:?lenient=on", config=DRIVE)
        self.app_on_screen(relayd, "Radio", "radio-1")
        page = self.visit(relayd.url)
        page.until("the drawer can be opened", "!document.querySelector('#drive-button').hidden")
        page.key("d")
        page.until("it says why not", "/needs the token that relayctl dashboard prints/.test(document.querySelector('#drive-why').textContent)")
        self.put(page, "#compose-rpc", "Show")
        page.until("the form is there all the same", "document.querySelector('[data-control=\"mainField1\"]')")
        self.assertTrue(page.value("document.querySelector('#compose-send').disabled && document.querySelector('#fault-add').disabled && document.querySelector('#scenario-run').disabled"))
        page.click("#drive-token")
        page.until("it asks for the token", "document.querySelector('#token').open")
        address = relayd.relayctl("dashboard").strip()
        page.value(f"document.querySelector('#token-text').value = '{address}'")
        page.click("#token-form button[value=use]")
        page.until("with it, it may", "document.querySelector('#drive-why').hidden && !document.querySelector('#compose-send').disabled")

        off = self.relayd(accessory="sim:?lenient=on")
        page = self.visit(off.relayctl("dashboard").strip())
        page.until("the drawer can be opened", "!document.querySelector('#drive-button').hidden")
        page.key("d")
        page.until("it says what to set", "/drive.enabled: true/.test(document.querySelector('#drive-why').textContent)")
        page.until("the specification is there all the same", "document.querySelectorAll('#compose-rpcs option').length > 50")
        with open(off.config, "a", encoding="utf-8") as config:
            config.write(DRIVE)
        off.relayctl("reload")
        page.key("Escape")
        page.key("d")
        page.until("after a reload it may", "document.querySelector('#drive-why').hidden")
        self.expect_clean(page, f"127.0.0.1:{off.port}")

    def test_fault_rules_come_take_and_go(self):
        relayd, app, page = self.bench()
        page.click("#tab-faults")
        page.until("there are none", "/no fault rules/.test(document.querySelector('#fault-none').textContent)")
        self.put(page, "#fault-filter", "rpc:Show")
        self.put(page, "#fault-action", "answer")
        fields = "#fault-fields .field:nth-child(%d) input"
        self.put(page, fields % 1, "REJECTED")
        self.put(page, fields % 2, 'no "space"')
        self.put(page, fields % 4, "2")
        self.assertEqual(page.value("document.querySelector('#fault-preview').textContent"), 'rpc:Show → answer REJECTED "no \\"space\\"" count 2')
        page.click("#fault-add")
        page.until("it is there", "/0 of 2 taken/.test(document.querySelector('#fault-list').textContent)")
        page.until("it is on top of the page", "!document.querySelector('#faults').hidden")
        app.ask("Show", {"mainField1": "refused"})
        page.until("what it took is counted", "/1 of 2 taken/.test(document.querySelector('#fault-list').textContent)")
        page.until("the app was refused", f"{ROWS}.some((row) => row.message.kind === 'response' && row.message.function === 'Show' && row.message.result_code === 'REJECTED')")
        self.put(page, "#fault-filter", "rpc:Shwo")
        page.click("#fault-add")
        page.until("a mistake is told in words", "document.querySelector('#fault-said').dataset.state === 'wrong' && /Shwo/.test(document.querySelector('#fault-said').textContent)")
        self.put(page, "#fault-action", "link slow")
        self.assertTrue(page.value("document.querySelector('#fault-filter-row').hidden"))
        self.put(page, fields % 1, "900KB/s")
        page.click("#fault-add")
        page.until("both are there", "document.querySelectorAll('#fault-list li').length === 2")
        page.click("#fault-list li[data-rule='1'] button")
        page.until("one is left", "document.querySelectorAll('#fault-list li').length === 1")
        page.click("#fault-clear")
        page.until("none is left", "document.querySelectorAll('#fault-list li').length === 0 && document.querySelector('#faults').hidden")
        self.assertEqual(relayd.get("/v1/faults")["rules"], [])
        complaints = [one for one in page.complaints if "400 (Bad Request)" not in one]
        self.assertEqual(complaints, [])

    STEPS = "[...document.querySelectorAll('#scenario-steps li')].map((one) => one.dataset.state).join()"
    SAID = "document.querySelector('#scenario-said')"

    def scenario(self, page, text):
        """Types it, and waits until relayd has read it without a mistake."""
        self.put(page, "#scenario-text", text)
        page.until("it can be run", "!document.querySelector('#scenario-run').disabled")

    def test_a_ready_scenario_runs_while_its_steps_are_watched(self):
        relayd, app, page = self.bench()
        page.click("#tab-scenarios")
        page.until("the ready ones are there", "document.querySelector('#scenario-ready').options.length > 5")
        self.put(page, "#scenario-ready", "soft-buttons")
        page.until("its apps and variables can be chosen", "document.querySelectorAll('#scenario-choices input').length >= 2")
        page.until("it can be run", f"/can be run/.test({self.SAID}.textContent) && !document.querySelector('#scenario-run').disabled")
        self.put(page, "#scenario-choices [data-choice=app]", "Radio")
        self.put(page, "#scenario-choices [data-name=reaction]", "500ms")
        page.click("#scenario-run")
        page.until("its first step is taken", f"{self.STEPS}.startsWith('running,open')")
        app.ask("Show", {"mainField1": "Player", "softButtons": [{"type": "TEXT", "text": "Play", "softButtonID": 7, "systemAction": "DEFAULT_ACTION"}]})
        page.until("the app does nothing about the press", f"{self.STEPS}.startsWith('passed,failed')")
        page.until("the end is told", f"{self.SAID}.dataset.state === 'wrong' && /^failed after /.test({self.SAID}.textContent)")
        page.until("what was expected is told", "/expected: from:app kind:request within 500 ms/.test(document.querySelector('#scenario-steps').textContent)")
        self.assertIn("button = 7", page.value("document.querySelector('#scenario-steps').textContent"))
        page.until("it can be run again", "!document.querySelector('#scenario-run').disabled")
        self.assertNotIn("running", relayd.get("/v1/scenarios"))
        self.expect_clean(page, f"127.0.0.1:{relayd.port}")

    def test_a_scenario_has_mistakes_is_corrected_and_stopped(self):
        relayd, _, page = self.bench()
        page.click("#tab-scenarios")
        self.put(page, "#scenario-text", "scenario: Waits\nsteps:\n  - fault: rpc:Show\n    do: delay 10ms\n  - wait: rpc:Shw\n")
        page.until("the mistake has its line", "/^line 5 .*did you mean 'Show'/.test(document.querySelector('#scenario-problems').textContent)")
        self.assertTrue(page.value("document.querySelector('#scenario-run').disabled"))
        page.click("#scenario-problems button")
        self.assertEqual(page.value("(() => { const text = document.querySelector('#scenario-text'); return text.value.slice(text.selectionStart, text.selectionEnd); })()"), "rpc:Shw")
        self.scenario(page, "scenario: Waits\nsteps:\n  - fault: rpc:Show\n    do: delay 10ms\n  - wait: rpc:Show\n    within: 10m\n")
        self.assertEqual(page.value("document.querySelector('#scenario-problems').textContent"), "")
        page.click("#scenario-run")
        page.until("it waits", f"{self.STEPS} === 'passed,running'")
        page.until("its rule is there", "!document.querySelector('#faults').hidden")
        self.assertEqual(relayd.get("/v1/scenarios")["running"], "Waits")
        page.click("#scenario-stop")
        page.until("it has ended", f"/^could not be used after /.test({self.SAID}.textContent) && {self.STEPS} === 'passed,unusable'")
        self.assertEqual(relayd.get("/v1/faults")["rules"], [])
        self.scenario(page, "scenario: A short pause\nsteps:\n  - pause: 50ms\n")
        page.click("#scenario-run")
        page.until("it passes", f"{self.SAID}.dataset.state === 'right' && /^passed after /.test({self.SAID}.textContent)")
        self.expect_clean(page, f"127.0.0.1:{relayd.port}")

    def test_a_page_that_goes_ends_its_scenario(self):
        relayd, _, page = self.bench()
        page.click("#tab-scenarios")
        self.scenario(page, "scenario: Waits\napps: {tester: {as: Tester}}\nsteps:\n  - wait: rpc:Alert\n    within: 10m\n")
        page.click("#scenario-run")
        page.until("it waits", f"{self.STEPS} === 'running'")
        other = self.visit(relayd.relayctl("dashboard").strip())
        other.until("it may be driven", "!document.querySelector('#drive-button').hidden")
        other.key("d")
        other.click("#tab-scenarios")
        other.until("another page sees that one runs, and can end it", f"/runs .Waits. for somebody else/.test({self.SAID}.textContent) && !document.querySelector('#scenario-stop').hidden")
        self.scenario(other, "scenario: A short pause\nsteps:\n  - pause: 50ms\n")
        other.click("#scenario-run")
        other.until("there is one at a time", f"{self.SAID}.dataset.state === 'wrong' && /one at a time/.test({self.SAID}.textContent)")
        page.open("about:blank")
        deadline = time.monotonic() + PATIENCE
        while "running" in relayd.get("/v1/scenarios") and time.monotonic() < deadline:
            time.sleep(0.02)
        self.assertNotIn("running", relayd.get("/v1/scenarios"))
        self.assertEqual([one["app_name"] for one in relayd.get("/v1/apps")["apps"]], ["Radio"])

    def test_what_comes_in_a_scenario_is_only_text(self):
        relayd, app, page = self.bench(name=HOSTILE[:100])
        page.click("#tab-scenarios")
        self.put(page, "#scenario-text", f"scenario: '{HOSTILE}'\n'{HOSTILE}': 1\nsteps: []\n")
        page.until("the mistake is told", "/line 2/.test(document.querySelector('#scenario-problems').textContent)")
        self.scenario(page, f"scenario: '{HOSTILE}'\nsteps:\n  - name: '{HOSTILE}'\n    wait: rpc:Show\n    check: {{mainField1: Hello}}\n")
        page.click("#scenario-run")
        page.until("it waits", f"{self.STEPS} === 'running'")
        app.ask("Show", {"mainField1": HOSTILE})
        page.until("it has failed", f"{self.STEPS} === 'failed'")
        self.assertIn(HOSTILE[:10], page.value("document.querySelector('#scenario-steps .found').textContent"))
        self.assertEqual(page.value("[window.owned, document.querySelectorAll('img').length].map(String).join()"), "undefined,0")

    def test_what_an_app_calls_itself_is_only_text(self):
        relayd, app, page = self.bench(name=HOSTILE[:100])
        app.ask("Show", {"mainField1": HOSTILE})
        self.assertIn(HOSTILE[:20], page.value("document.querySelector('#compose-app').textContent"))
        self.put(page, "#compose-rpc", "Show")
        page.until("the form is there", "document.querySelector('[data-control=\"mainField1\"]')")
        self.put(page, "#compose-json", json.dumps({"mainField1": HOSTILE, HOSTILE: [HOSTILE], "__proto__": {"owned": 1}, "softButtons": HOSTILE}))
        page.until("it is refused, in its words", f"{VERDICT}.dataset.state === 'wrong'")
        page.click("#compose-unchecked")
        page.click("#compose-send")
        page.until("it is answered", f"/ after /.test({ANSWER})")
        self.put(page, "#compose-rpc", HOSTILE)
        page.click("#tab-faults")
        self.put(page, "#fault-filter", f"app:{json.dumps(HOSTILE)}")
        self.put(page, "#fault-action", "drop")
        page.click("#fault-add")
        page.until("the rule is shown", "document.querySelectorAll('#fault-list li').length === 1 && !document.querySelector('#faults').hidden")
        self.assertEqual(page.value("[window.owned, ({}).owned, document.querySelectorAll('img').length].map(String).join()"), "undefined,undefined,0")

    def test_it_works_from_the_keyboard_and_on_a_phone(self):
        relayd, _, page = self.bench(width=400, height=800, dark=True)
        self.put(page, "#compose-rpc", "Show")
        page.until("the form is there", "document.querySelector('[data-control=\"mainField1\"]')")
        page.click('[data-control="softButtons there"]')
        page.click('[data-control="softButtons add"]')
        self.assertLessEqual(page.value("document.querySelector('#drive').scrollWidth"), 400)
        nameless = page.value("""[...document.querySelectorAll('#drive :is(input, select, textarea, button)')].filter((one) =>
            !(one.getAttribute('aria-label') || one.textContent.trim() || one.labels?.[0]?.textContent.trim())).map((one) => one.outerHTML)""")
        self.assertEqual(nameless, [])
        page.value("document.querySelector('#tab-compose').focus()")
        page.key("ArrowRight")
        page.until("the arrow goes to the next tab", "document.activeElement.id === 'tab-faults' && !document.querySelector('#panel-faults').hidden")
        self.assertLessEqual(page.value("document.querySelector('#drive').scrollWidth"), 400)
        page.key("ArrowRight")
        page.until("and to the next", "document.activeElement.id === 'tab-scenarios' && !document.querySelector('#panel-scenarios').hidden")
        self.assertLessEqual(page.value("document.querySelector('#drive').scrollWidth"), 400)
        page.key("Escape")
        page.until("Escape closes it", "!document.querySelector('#drive').open")
        self.assertEqual(page.value("document.querySelector('#drive-button').getAttribute('aria-expanded')"), "false")
        self.expect_clean(page, f"127.0.0.1:{relayd.port}")


if __name__ == "__main__":
    unittest.main(verbosity=2)
