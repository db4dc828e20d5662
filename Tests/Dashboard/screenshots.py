"""Takes the documentation's pictures of the dashboard, in some 90 s: one busy bench, in light, in dark, and on
a phone. Needs Chromium and the built programs: swift build && python3 Tests/Dashboard/screenshots.py

    screenshots.py [DIRECTORY [png]]    writes dashboard-light, -dark and -phone to Documentation/images, as WebP
"""

import os
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from bench import Relayd  # noqa: E402
from browser import Browser  # noqa: E402
from sdl import App  # noqa: E402

# Of lossy WebP; text stays sharp.
QUALITY = 80
# Seconds of traffic before the first picture: something for the plots to show.
WARM_UP = 60


def navigation(app, ended):
    """An app as they are on a bench: busy, and not without mistakes."""
    turns = ["Turn left in 300 m", "Keep right", "Straight on for 2 km", "At the roundabout, second exit"]
    count = 0
    while not ended.is_set():
        count += 1
        app.ask("Show", {"mainField1": turns[count % 4], "mainField2": "A1 · 12 min", "alignment": "CENTERED"})
        if count % 5 == 0:
            app.ask("GetVehicleData", {"speed": True, "fuelLevel": True})
        if count % 9 == 0:
            app.ask("SetMediaClockTimer", {"updateMode": "COUNTUP", "startTime": {"hours": 0, "minutes": 74, "seconds": 2}})
        if count % 7 == 0:
            app.ask("Speak", {"ttsChunks": [{"text": turns[count % 4], "type": "TEXT"}]})
        ended.wait(0.9)


def busy_bench(relayd, page, ended):
    """The demo's app, and one that navigates and streams video."""
    relayd.sample_app()
    page.until("the sample app is through", "/on the screen|FULL/.test(document.querySelector('.card .level')?.textContent)")
    app = App(relayd.apps, "Bench Navigation", "bench-navigation", kind="NAVIGATION")
    app.visible.wait(30)
    app.ask("SubscribeButton", {"buttonName": "OK"})
    app.ask("AddCommand", {"cmdID": 1, "menuParams": {"menuName": "Home"}})
    threads = [threading.Thread(target=navigation, args=(app, ended)),
               threading.Thread(target=app.stream_video, args=(ended,))]
    for thread in threads:
        thread.start()
    return threads


def wait(browser, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        browser.pump(0.1)


def main(directory="Documentation/images", kind="webp"):
    os.makedirs(directory, exist_ok=True)

    def picture(page, name):
        path = os.path.join(directory, f"dashboard-{name}.{kind}")
        page.picture(path, QUALITY)
        print(f"{path}: {os.path.getsize(path) / 1024:.0f} KiB")

    ended = threading.Event()
    with Relayd() as relayd, Browser() as browser:
        # One page in all sizes: a browser draws only the tab in front.
        page = browser.page(1280, 800)
        page.open(relayd.url)
        threads = busy_bench(relayd, page, ended)
        wait(browser, WARM_UP)
        page.until("both apps are there", "document.querySelectorAll('.card .level').length === 2")
        picture(page, "light")

        # The message with a mistake, found and opened as a person would.
        page.prefer(dark=True)
        page.key("/")
        page.type("rpc:SetMediaClockTimer kind:request")
        page.until("it is found", """(() => {
            const titles = [...document.querySelectorAll('#list .row:not([hidden]) .title')];
            return titles.length > 0 && titles.every((one) => /SetMediaClockTimer/.test(one.textContent));
        })()""")
        page.key("Escape")
        page.key("G")
        page.key("Enter")
        page.until("it is shown", "document.querySelector('.json .marked')")
        page.key("x")
        wait(browser, 2)
        picture(page, "dark")

        page.prefer(dark=False)
        page.key("Escape")
        page.key("Escape")
        page.resize(360, 740, 2, touch=True)
        wait(browser, 2)
        picture(page, "phone")
        ended.set()
        for thread in threads:
            thread.join()


if __name__ == "__main__":
    main(*sys.argv[1:])
