"""Write results, data sets and traces of LangChain, LlamaIndex, Haystack, ragas, deepeval, MLflow and TruLens.

Run it with the name of a library, where that is installed: ``python make_results.py langchain``. No model is called.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
QUESTION, ANSWER = "At what temperature is green tea brewed?", "At 70 to 80 degrees."
REFERENCE = "70 to 80 degrees"
GREEN, BLACK = "Green tea is brewed at 70 to 80 degrees.", "Black tea takes boiling water."
MODEL = "small-model-1"


def write(name: str, *rows: object) -> None:
    (HERE / name).write_text("".join(json.dumps(row, default=str) + "\n" for row in rows))


def langchain() -> None:
    from langchain_core.documents import Document
    from langchain_core.load import dumpd
    from langchain_core.messages import AIMessage, HumanMessage
    from langchain_core.runnables import RunnableLambda, RunnablePassthrough

    documents = [
        Document(id="tea-1", page_content=GREEN, metadata={"source": "tea.pdf", "score": 0.91}),
        Document(page_content=BLACK, metadata={"doc_id": "tea-2", "score": 0.44}),
    ]
    chain = RunnablePassthrough.assign(context=RunnableLambda(lambda _: documents)) | RunnablePassthrough.assign(
        answer=RunnableLambda(lambda _: ANSWER)
    )
    result = chain.invoke({"input": QUESTION, "chat_history": [HumanMessage("Hello"), AIMessage("Hello, what is it?")]})
    write("langchain-dumpd.jsonl", dumpd(result))
    plain = {**result, "context": [document.model_dump() for document in documents]}
    write(
        "langchain-model-dump.jsonl", {**plain, "chat_history": [turn.model_dump() for turn in result["chat_history"]]}
    )
    pages = [document.model_dump() for document in documents]
    write("langchain-retrievalqa.jsonl", {"query": QUESTION, "result": ANSWER, "source_documents": pages})


def langsmith() -> None:
    from langchain_core.callbacks import CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.language_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage
    from langchain_core.prompts import ChatPromptTemplate
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.runnables import RunnablePassthrough
    from langchain_core.tracers.run_collector import RunCollectorCallbackHandler

    class Teas(BaseRetriever):
        def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
            first = Document(id="tea-1", page_content=GREEN, metadata={"score": 0.91})
            return [first, Document(id="tea-2", page_content=BLACK, metadata={"score": 0.44})]

    model = GenericFakeChatModel(messages=iter([AIMessage(ANSWER)]))
    prompt = ChatPromptTemplate.from_messages([("system", "Passages: {context}"), ("user", "{question}")])
    steps = {"context": (lambda given: given["question"]) | Teas(), "question": lambda given: given["question"]}
    chain = RunnablePassthrough() | steps | prompt | model
    kept = RunCollectorCallbackHandler()
    chain.invoke({"question": QUESTION}, config={"callbacks": [kept], "metadata": {"ls_model_name": MODEL}})
    rows: list[dict] = []

    def below(run) -> None:
        told = json.loads(run.json(exclude={"child_runs", "parent_run", "serialized", "events", "client", "ls_client"}))
        told["extra"] = {"metadata": told["extra"].get("metadata", {})}
        rows.append({key: value for key, value in told.items() if value is not None and key != "session_name"})
        for child in run.child_runs:
            below(child)

    below(kept.traced_runs[0])
    write("langsmith-runs.jsonl", *reversed(rows))


def llamaindex() -> None:
    from dataclasses import asdict

    from llama_index.core.base.response.schema import Response
    from llama_index.core.schema import NodeWithScore, TextNode

    nodes = [
        NodeWithScore(node=TextNode(id_="tea-1", text=GREEN, metadata={"file": "tea.pdf"}), score=0.91),
        NodeWithScore(node=TextNode(id_="tea-2", text=BLACK), score=0.44),
    ]
    response = Response(response=ANSWER, source_nodes=nodes)
    told = {**asdict(response), "source_nodes": [node.to_dict() for node in nodes]}
    write("llamaindex.jsonl", {"query": QUESTION, **told}, {"query": QUESTION, "response": told})


def haystack() -> None:
    from haystack import Document, Pipeline
    from haystack.components.builders import AnswerBuilder
    from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
    from haystack.document_stores.in_memory import InMemoryDocumentStore

    store = InMemoryDocumentStore()
    store.write_documents([Document(id="tea-1", content=GREEN), Document(id="tea-2", content=BLACK)])
    pipeline = Pipeline()
    pipeline.add_component("retriever", InMemoryBM25Retriever(store))
    pipeline.add_component("answers", AnswerBuilder())
    pipeline.connect("retriever.documents", "answers.documents")
    inputs = {"retriever": {"query": QUESTION}}
    inputs["answers"] = {"query": QUESTION, "replies": [ANSWER], "meta": [{"model": MODEL}]}
    result = pipeline.run(inputs, include_outputs_from={"retriever"})
    (answer,) = result["answers"]["answers"]
    write("haystack-answer.jsonl", answer.to_dict())
    found = [document.to_dict() for document in result["retriever"]["documents"]]
    run = {"retriever": {"documents": found}, "llm": {"replies": [ANSWER], "meta": [{"model": MODEL}]}}
    write("haystack-run.jsonl", {**run, "query": QUESTION})


def ragas() -> None:
    from ragas import EvaluationDataset, MultiTurnSample, SingleTurnSample
    from ragas.messages import AIMessage, HumanMessage

    sample = SingleTurnSample(
        user_input=QUESTION, response=ANSWER, retrieved_contexts=[GREEN, BLACK], reference=REFERENCE,
        reference_contexts=[GREEN],
    )  # fmt: skip
    data = EvaluationDataset(samples=[sample])
    data.to_jsonl(HERE / "ragas.jsonl")
    data.to_csv(HERE / "ragas.csv")
    (HERE / "ragas-columns.json").write_text(json.dumps(data.to_hf_dataset().to_dict()))
    turns = [HumanMessage(content="Hello"), AIMessage(content="Hello, what is it?")]
    turns += [HumanMessage(content=QUESTION), AIMessage(content=ANSWER)]
    EvaluationDataset(samples=[MultiTurnSample(user_input=turns)]).to_jsonl(HERE / "ragas-turns.jsonl")


def deepeval() -> None:
    from deepeval.dataset import EvaluationDataset
    from deepeval.test_case import LLMTestCase
    from deepeval.test_run.test_run import LLMApiTestCase

    case = LLMTestCase(
        input=QUESTION, actual_output=ANSWER, expected_output=REFERENCE, retrieval_context=[GREEN, BLACK],
        context=["Gold: 70 to 80 degrees."],
    )  # fmt: skip
    data = EvaluationDataset()
    data.add_test_case(case)
    for kind in ("json", "csv"):
        data.save_as(kind, directory=str(HERE), file_name="deepeval", include_test_cases=True)
    told = LLMApiTestCase(
        name="one", input=case.input, actualOutput=ANSWER, expectedOutput=REFERENCE, order=0,
        retrievalContext=case.retrieval_context, context=case.context, success=True, metricsData=[],
    )  # fmt: skip
    run = {"testFile": None, "testCases": [told.model_dump(by_alias=True, exclude_none=True)]}
    (HERE / "deepeval-run.json").write_text(json.dumps(run) + "\n")


def mlflow() -> None:
    os.environ |= {"MLFLOW_ALLOW_FILE_STORE": "true", "MLFLOW_ENABLE_ASYNC_TRACE_LOGGING": "false"}
    import mlflow
    from mlflow.entities import Document, SpanType

    mlflow.set_tracking_uri(f"file://{tempfile.mkdtemp()}")
    mlflow.set_experiment("tea")

    @mlflow.trace(span_type=SpanType.RETRIEVER)
    def retrieve(query: str) -> list[Document]:
        del query
        return [
            Document(GREEN, metadata={"doc_uri": "tea.pdf", "score": 0.91}, id="tea-1"),
            Document(BLACK, metadata={"score": 0.44}, id="tea-2"),
        ]

    @mlflow.trace(span_type=SpanType.CHAT_MODEL)
    def generate(messages: list[dict]) -> dict:
        del messages
        mlflow.get_current_active_span().set_attribute("mlflow.llm.model", MODEL)
        return {"choices": [{"message": {"role": "assistant", "content": ANSWER}}], "model": MODEL}

    @mlflow.trace
    def ask(question: str) -> str:
        retrieve(question)
        said = generate([{"role": "user", "content": f"Passages: ... {question}"}])
        return said["choices"][0]["message"]["content"]

    ask(QUESTION)
    trace = mlflow.get_trace(mlflow.get_last_active_trace_id())
    (HERE / "mlflow.json").write_text(without_machine(trace.to_json(pretty=True)) + "\n")
    table = mlflow.search_traces()
    table["trace"] = table["trace"].map(without_machine)
    table.drop(columns=["trace_metadata", "tags"]).to_json(HERE / "mlflow-search.jsonl", orient="records", lines=True)


def without_machine(trace: str) -> str:
    """The trace without what it says of the machine that made it."""
    told = json.loads(trace)
    told["info"] |= {"trace_metadata": {"mlflow.trace_schema.version": "3"}, "tags": {"mlflow.traceName": "ask"}}
    return json.dumps(told)


def rag_of(instrument, **spans):
    """An application whose steps TruLens records; ``spans`` are what version 2 is told of each of them."""

    class Rag:
        @instrument(**spans.get("retrieve", {}))
        def retrieve(self, query: str) -> list[str]:
            return [GREEN, BLACK]

        @instrument(**spans.get("generate", {}))
        def generate(self, query: str, passages: list[str]) -> str:
            return ANSWER

        @instrument(**spans.get("ask", {}))
        def ask(self, query: str) -> str:
            return self.generate(query, self.retrieve(query))

    return Rag()


def trulens() -> None:
    from trulens.apps.app import TruApp
    from trulens.core import TruSession
    from trulens.core.otel.instrument import instrument
    from trulens.otel.semconv.trace import SpanAttributes

    kinds, found = SpanAttributes.SpanType, SpanAttributes.RETRIEVAL
    session = TruSession(database_url=f"sqlite:///{tempfile.mkdtemp()}/trulens.db")
    said = {found.QUERY_TEXT: "query", found.RETRIEVED_CONTEXTS: "return"}
    rag = rag_of(
        instrument, retrieve={"span_type": kinds.RETRIEVAL, "attributes": said},
        generate={"span_type": kinds.GENERATION}, ask={"span_type": kinds.RECORD_ROOT},
    )  # fmt: skip
    with TruApp(rag, app_name="tea", app_version="one", main_method=rag.ask):
        rag.ask(QUESTION)
    session.force_flush()
    events = session.get_events(app_name="tea", app_version="one")
    events["resource_attributes"] = [{"service.name": "trulens"}] * len(events)  # the rest is of this machine
    events.to_json(HERE / "trulens-events.jsonl", orient="records", lines=True, date_format="iso", date_unit="us")


def trulens1() -> None:
    """The records of version 1, of trulens-core 1.2."""
    from trulens.apps.custom import TruCustomApp, instrument
    from trulens.core import TruSession

    session = TruSession(database_url=f"sqlite:///{tempfile.mkdtemp()}/trulens.db")
    rag = rag_of(lambda: instrument)
    with TruCustomApp(rag, app_name="tea", app_version="one") as recording:
        rag.ask(QUESTION)
    kept = json.loads(recording.get().model_dump_json())
    kept["calls"] = [{key: call[key] for key in ("stack", "args", "rets", "error", "perf")} for call in kept["calls"]]
    frame, _ = session.get_records_and_feedback()
    names = ["app_id", "app_name", "app_version", "record_id", "input", "output", "tags", "cost_json", "perf_json"]
    row = {name: value for name, value in json.loads(frame.to_json(orient="records"))[0].items() if name in names}
    write("trulens-records.jsonl", {**row, "record_json": json.dumps(kept)})


globals()[sys.argv[1]]()
