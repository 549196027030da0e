"""The exceptions of Ragstone.

The tree::

    RagstoneError
    ├── InputError            wrong input; the command line exits with 2
    │   ├── RecordError       one record of the input: file, line, field, what was found
    │   ├── ConfigError       the configuration, a flag or an argument
    │   │   └── OutputError   a file cannot be written; ``run`` holds the results
    │   └── TemplateError     a prompt template
    ├── JudgeError            a judge failed
    │   ├── BackendError      no answer came; ``retryable`` says whether one may later
    │   └── ParseError        an answer cannot be parsed; ``reply`` holds it
    ├── ServiceError          a trace server cannot be reached, or refuses a request
    ├── WorkerError           a worker process ended unexpectedly several times
    ├── BatchPending          a batch is in progress; the command line exits with 5
    ├── BudgetReached         a limit on money, calls or tokens; the command line exits with 4
    └── StoreError            the store cannot be read or written

A message is one line: where, what was found, what to do. No message holds an API key.
"""

from __future__ import annotations

import shlex
from typing import Any


def reason(error: OSError) -> str:
    """Return why a file cannot be read, in one line."""
    if isinstance(error, FileNotFoundError):
        return "no such file"
    if isinstance(error, PermissionError):
        return "no permission to read it"
    return error.strerror or str(error)


class RagstoneError(Exception):
    """The base of all Ragstone exceptions; ``hint`` says what the user can do, if the message does not."""

    def __init__(self, message: str = "", *, hint: str = "") -> None:
        self.hint = hint
        super().__init__(message)

    def _render_traceback_(self) -> list[str]:
        """Return the lines that IPython and Jupyter show: the message, the hint and the notes, without a traceback."""
        notes = [f"note: {note}" for note in getattr(self, "__notes__", ())]
        return [f"{type(self).__name__}: {self}", *([f"hint: {self.hint}"] if self.hint else []), *notes]


class InputError(RagstoneError):
    """The input is invalid; the message says what to change."""


class RecordError(InputError):
    """One record cannot be read.

    ``where`` is the file with its line or row, ``field`` the field's name (empty for the whole record), ``found`` what
    is there and ``expected`` what should be there. ``option`` has the words of an option that probably makes it
    readable.
    """

    def __init__(
        self, where: str, found: str, expected: str = "", *, field: str = "", option: tuple[str, ...] = ()
    ) -> None:
        self.where = where
        self.field = field
        self.found = found
        self.expected = expected = f"did you mean {shlex.join(option)}?" if option else expected
        self.option = option
        subject = f"{where}: field '{field}'" if field else where
        super().__init__(f"{subject}: {found}" + (f"; {expected}" if expected else ""))


class ConfigError(InputError):
    """The configuration file, an option or an argument is invalid."""


class OutputError(ConfigError):
    """A file cannot be written; the message says which, why, and what to do.

    ``path`` is the file or the folder, ``run`` the number of the run with the results (0: there are none).
    """

    def __init__(self, message: str, *, path: str = "", run: int = 0) -> None:
        self.path = path
        self.run = run
        super().__init__(message)


class TemplateError(InputError):
    """A prompt template is missing, damaged, or asks for a field that its question does not have."""


class JudgeError(RagstoneError):
    """A judge failed."""

    def __init__(self, message: str, *, judge: str = "", hint: str = "") -> None:
        self.judge = judge
        super().__init__(message, hint=hint)


class BackendError(JudgeError):
    """A backend gave no usable answer.

    ``retryable``: the same request may succeed later. ``fatal``: no request in this run will succeed (a wrong key, an
    unknown model), so the run stops. ``retry_after``: seconds the endpoint asked to wait. ``too_long``: the request
    exceeds the model's context. ``spent``: the tokens that the endpoint counted (the fields of ``Usage``), if it did.
    ``lost``: the request was sent but no reply came; it may have been charged. ``status``: the HTTP status, 0 if there
    was none. ``loading``: the server is loading its model. ``no_capacity``: the flex tier has no capacity now.
    ``general``: a refusal whose cause is not this request's text or length, so it may concern every request.
    ``allowance``: what the endpoint says is left of its limits.
    """

    def __init__(
        self,
        message: str = "",
        *,
        judge: str = "",
        hint: str = "",
        retryable: bool = False,
        fatal: bool = False,
        retry_after: float | None = None,
        too_long: bool = False,
        spent: tuple[Any, ...] | None = None,
        lost: bool = False,
        status: int = 0,
        loading: bool = False,
        no_capacity: bool = False,
        general: bool = False,
        allowance: object = None,
    ) -> None:
        self.retryable = retryable
        self.fatal = fatal
        self.retry_after = retry_after
        self.too_long = too_long
        self.spent = spent
        self.lost = lost
        self.status = status
        self.loading = loading
        self.no_capacity = no_capacity
        self.general = general
        self.allowance = allowance
        super().__init__(message, judge=judge, hint=hint)

    @property
    def busy(self) -> bool:
        """Whether the endpoint works but takes no call now, which is neither a failed try nor a sign of an outage."""
        return self.loading or self.no_capacity or self.status in (429, 529)


class ParseError(JudgeError):
    """A reply is not in the requested format; ``reply`` is its text."""

    def __init__(self, message: str, *, reply: str = "", judge: str = "") -> None:
        self.reply = reply
        super().__init__(message, judge=judge)


class ServiceError(RagstoneError):
    """A trace server cannot be reached, or refuses a request."""


class WorkerError(RagstoneError):
    """A worker process ended unexpectedly several times."""


class BudgetReached(RagstoneError):  # noqa: N818 - not a fault: the limit worked
    """The next call would exceed a limit on money, calls or tokens.

    ``run`` is the number of the run with the results; 0 if there are none.
    """

    def __init__(self, message: str, *, hint: str = "", run: int = 0) -> None:
        self.run = run
        super().__init__(message, hint=hint)


class BatchPending(RagstoneError):  # noqa: N818 - not a fault: the provider has the calls
    """Calls are in an unfinished batch; ``hint`` says when to come back."""


class StoreError(RagstoneError):
    """The store cannot be opened, read or written; the message names the file.

    ``damaged``: the file is not a valid store.
    """

    def __init__(self, message: str, *, damaged: bool = False) -> None:
        self.damaged = damaged
        super().__init__(message)
