"""A headless Chromium spoken to over a pipe, in the DevTools protocol: as much of it as the tests of pages need.

No port and no package: Chromium reads commands from file descriptor 3 and writes to 4, JSON with a zero byte after
each.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS: Final = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
    "--hide-scrollbars",
)  # fmt: skip
PATIENCE: Final = 60.0
"""Seconds to wait for an answer or for something on a page."""

KEYS: Final = {"Enter": 13, "Escape": 27, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39,
               "ArrowDown": 40, "Tab": 9}  # fmt: skip


def installed() -> str | None:
    """Where Chromium is."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


class Chromium:
    """A browser with one page, and a profile that is thrown away."""

    def __init__(self, program: str) -> None:
        self._profile = tempfile.TemporaryDirectory(prefix="ragstone-chromium-", ignore_cleanup_errors=True)
        theirs_in, self._out = os.pipe()
        self._in, theirs_out = os.pipe()
        # Both are moved out of the way first, so that neither is written over when they become 3 and 4.
        theirs = [fcntl.fcntl(one, fcntl.F_DUPFD_CLOEXEC, 64) for one in (theirs_in, theirs_out)]
        arguments = [*FLAGS, f"--user-data-dir={self._profile.name}", "--remote-debugging-pipe", "about:blank"]
        silent = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in (0, 1, 2)]
        pipes = [(os.POSIX_SPAWN_DUP2, one, number) for number, one in enumerate(theirs, 3)]
        self._process = os.posix_spawn(program, [program, *arguments], os.environ, file_actions=[*silent, *pipes])
        for one in (theirs_in, theirs_out, *theirs):
            os.close(one)
        self._number = 0
        self._buffer = b""
        self._session = ""
        self.events: list[dict[str, Any]] = []
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.send(f"{domain}.enable")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the browser."""
        os.kill(self._process, signal.SIGTERM)
        os.waitpid(self._process, 0)
        os.close(self._in)
        os.close(self._out)
        self._profile.cleanup()

    # ---- the protocol

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One command and its answer; events that come before it are kept."""
        self._number += 1
        session = {"sessionId": self._session} if self._session else {}
        message = {"id": self._number, "method": method, "params": parameters, **session}
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._out, data) :]
        for answer in self._messages(PATIENCE):
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise AssertionError(f"{method}: {answer['error']}")
                found: dict[str, Any] = answer["result"]
                return found
            self.events.append(answer)
        raise AssertionError(f"{method}: no answer in {PATIENCE:g} s")

    def _messages(self, patience: float) -> Iterator[dict[str, Any]]:
        end = time.monotonic() + patience
        while (left := end - time.monotonic()) > 0:
            message, zero, rest = self._buffer.partition(b"\0")
            if zero:
                self._buffer = rest
                yield json.loads(message)
            elif select.select([self._in], [], [], left)[0]:
                read = os.read(self._in, 1 << 20)
                if not read:
                    raise AssertionError("Chromium ended")
                self._buffer += read

    def seen(self, method: str) -> list[dict[str, Any]]:
        """The parameters of all events of a kind so far."""
        self.send("Runtime.evaluate", expression="0")  # what was sent before it has arrived with its answer
        return [event["params"] for event in self.events if event.get("method") == method]

    # ---- the page

    def open(self, address: str) -> None:
        """Go to the address of a page and wait until all of its records are read, or those that are asked for."""
        self.evaluate("window.left = true")
        self.send("Page.navigate", url="about:blank")  # a changed fragment alone would not load anything
        self.until("!window.left")
        self.events.clear()
        self.send("Page.navigate", url=address)
        self.until(
            "document.readyState === 'complete' && (document.querySelector('.case-head, .labelling *, .agree')"
            " || (document.querySelector('.compare') && !document.querySelector('.moved-box:empty'))"
            " || !(document.querySelector('.shown')?.textContent ?? 'reading').includes('reading'))"
        )

    def evaluate(self, expression: str) -> Any:
        """The value of an expression of the page; a promise's when it is kept."""
        found = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in found:
            raise AssertionError(f"{expression}: {found['exceptionDetails']['exception'].get('description')}")
        return found["result"].get("value")

    def until(self, expression: str) -> None:
        """Wait for an expression to be true."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if self.evaluate(f"Boolean({expression})"):
                return
            time.sleep(0.02)
        raise AssertionError(f"never: {expression}")

    def all(self, selector: str, of: str = "textContent") -> list[Any]:
        """A property of all elements that a selector finds."""
        found = self.evaluate(f"[...document.querySelectorAll({json.dumps(selector)})].map((one) => one.{of})")
        return list(found)

    def text(self, selector: str) -> str:
        """The text of the first such element, as it is seen."""
        return str(self.evaluate(f"document.querySelector({json.dumps(selector)}).innerText"))

    def place(self, selector: str) -> tuple[float, float]:
        """The middle of the first such element, which is brought into view."""
        x, y = self.evaluate(
            f"(() => {{ const one = document.querySelector({json.dumps(selector)});"
            " one.scrollIntoView({block: 'center', behavior: 'instant'});"
            " const box = one.getClientRects()[0]; return [box.left + box.width / 2, box.top + box.height / 2]; })()"
        )
        return x, y

    def hover(self, selector: str) -> None:
        """Move the pointer onto an element."""
        x, y = self.place(selector)
        self.send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def click(self, selector: str, meanwhile: Callable[[], object] = lambda: None) -> None:
        """Click on an element; something may happen while the button is held."""
        x, y = self.place(selector)
        self.drag((x, y), (x, y), meanwhile)

    def drag(
        self, start: tuple[float, float], end: tuple[float, float], meanwhile: Callable[[], object] = lambda: None
    ) -> None:
        """Press at one place and let go at another."""
        for kind, (x, y) in (
            ("mouseMoved", start),
            ("mousePressed", start),
            ("mouseMoved", end),
            ("mouseReleased", end),
        ):
            button = "none" if kind == "mouseMoved" and start == end else "left"
            held = 1 if kind == "mousePressed" or (kind == "mouseMoved" and (x, y) == end != start) else 0
            if kind == "mouseReleased":
                meanwhile()
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button=button, buttons=held, clickCount=1)

    def press(self, key: str) -> None:
        """Press a key and let go."""
        code = KEYS.get(key) or ord(key.upper())
        typed = {"text": "\r"} if key == "Enter" else {"text": key} if len(key) == 1 else {}
        self.send("Input.dispatchKeyEvent", type="keyDown", key=key, windowsVirtualKeyCode=code, **typed)
        self.send("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)

    def type(self, text: str) -> None:
        """Type where the focus is."""
        self.send("Input.insertText", text=text)

    # ---- the world around it

    def size(self, width: int, height: int, scale: float = 1) -> None:
        """The size of the page on the screen."""
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=scale,
            mobile=width < 600,
        )

    def prefers(self, look: str) -> None:
        """What the reader's system says: ``light`` or ``dark``."""
        self.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": look}])

    def offline(self, cut: bool = True) -> None:
        """Cut the network off, or give it back."""
        speed = 0 if cut else -1
        self.send("Network.emulateNetworkConditions", offline=cut, latency=0, downloadThroughput=speed,
                  uploadThroughput=speed)  # fmt: skip

    def pdf(self) -> bytes:
        """The page as it is printed on A4."""
        found = self.send("Page.printToPDF", paperWidth=8.27, paperHeight=11.69, preferCSSPageSize=True)
        return base64.b64decode(found["data"])

    def on_paper(self, *selectors: str) -> tuple[str, list[str]]:
        """The background of the page as it is printed, and which of these elements are seen on it."""
        self.send("Emulation.setEmulatedMedia", media="print")
        seen = [name for name in selectors if self.evaluate(f"document.querySelector('{name}').clientHeight > 0")]
        background = self.evaluate("getComputedStyle(document.body).backgroundColor")
        self.send("Emulation.setEmulatedMedia", media="")
        return background, seen

    def picture(self, path: Path, *, whole: bool = False) -> None:
        """A picture of what is on the screen, or of the whole page."""
        found = self.send("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(found["data"]))

    def troubles(self) -> list[str]:
        """What went wrong on the page, as its console tells it."""
        details = [event["exceptionDetails"] for event in self.seen("Runtime.exceptionThrown")]
        thrown = [f"{detail['text']} {detail.get('exception', {}).get('description')}" for detail in details]
        logged = [event["entry"]["text"] for event in self.seen("Log.entryAdded")]
        said = [str(event["args"]) for event in self.seen("Runtime.consoleAPICalled")]
        return thrown + logged + said

    def requests(self) -> list[str]:
        """The addresses that the page asked for."""
        return [event["request"]["url"] for event in self.seen("Network.requestWillBeSent")]
