from ragstone.analysis.check import CheckResult as CheckResult
from ragstone.analysis.compare import Comparison as Comparison
from ragstone.analysis.result import Result as Result
from ragstone.analysis.run import Run as Run
from ragstone.api import aevaluate as aevaluate
from ragstone.api import check as check
from ragstone.api import compare as compare
from ragstone.api import estimate as estimate
from ragstone.api import evaluate as evaluate
from ragstone.api import open_run as open_run
from ragstone.api import score as score
from ragstone.api import validate as validate
from ragstone.errors import BackendError as BackendError
from ragstone.errors import BudgetReached as BudgetReached
from ragstone.errors import ConfigError as ConfigError
from ragstone.errors import InputError as InputError
from ragstone.errors import JudgeError as JudgeError
from ragstone.errors import ParseError as ParseError
from ragstone.errors import RagstoneError as RagstoneError
from ragstone.errors import RecordError as RecordError
from ragstone.errors import StoreError as StoreError
from ragstone.errors import TemplateError as TemplateError
from ragstone.forecast.summary import Estimate as Estimate
from ragstone.options import Progress as Progress
from ragstone.options import RunOptions as RunOptions
from ragstone.types import Passage as Passage
from ragstone.types import Quote as Quote
from ragstone.types import Record as Record
from ragstone.types import Scale as Scale
from ragstone.types import Score as Score
from ragstone.types import Span as Span
from ragstone.types import Unit as Unit
from ragstone.types import Verdict as Verdict

__version__: str
__all__: list[str]  # noqa: PYI035 - __init__.py has it
