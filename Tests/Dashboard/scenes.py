"""What every test of the dashboard begins with: a browser, a relayd, an app and a look for what nobody
wanted. Used by dashboard_test.py and drive_test.py."""

import os
import re
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from bench import Relayd  # noqa: E402
from browser import Browser  # noqa: E402
from sdl import App  # noqa: E402

ROWS = "[...document.querySelectorAll('#list .row:not([hidden])')]"
NAMES = f"{ROWS}.map((row) => row.querySelector('.title').textContent.replace('▲ ', ''))"
# What the browser says by itself when an app left between the page's question who is there and that
# about the app: relayd has no other answer then.
LEFT = re.compile(r"status of 404 \(Not Found\) http://[0-9.:]+/v1/apps/[0-9]+$")


class Scenes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.__exit__)

    def visit(self, url, **size):
        page = self.browser.page(**size)
        self.addCleanup(page.close)
        page.open(url)
        page.until("the page is loaded", "document.readyState === 'complete'")
        return page

    def expect_clean(self, page, host, *, allowed=()):
        """Nothing was asked of anybody else, and nothing was complained about."""
        strangers = [url for url in page.requests
                     if not url.startswith((f"http://{host}/", "about:", "data:"))]
        self.assertEqual(strangers, [])
        complaints = [one for one in page.complaints
                      if not LEFT.search(one) and not any(word in one for word in allowed)]
        self.assertEqual(complaints, [])

    @staticmethod
    def ago(seconds):
        """A time in the past, as the API writes it."""
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - seconds))

    def relayd(self, **options):
        relayd = Relayd(**options)
        self.addCleanup(relayd.__exit__)
        return relayd

    def app_on_screen(self, relayd, name, app_id):
        app = App(relayd.apps, name, app_id)
        self.addCleanup(app.close)
        app.visible.wait(30)
        return app
