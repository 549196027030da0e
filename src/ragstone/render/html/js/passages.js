// The two columns of a record: the response with its verdicts, and the passages with the evidence.

/** @param {Case} record @param {Layer | undefined} layer @param {Lights} lights */
function responseText(record, layer, lights) {
  const text = record.document.response;
  if (text === null) return el('p.empty', 'This record has no response.');
  if (!text.trim()) return el('p.empty', 'The response is blank: there was nothing to judge.');
  const spans = (layer?.entries || []).flatMap((entry) =>
    entry.spans.map(({ start, end }) => ({ start, end, of: entry })),
  );
  return el(
    'div',
    { class: 'prose', dir: directionOf(text) },
    laidOut(text, spans, ({ text: piece, of }) => {
      if (!of.length) return piece;
      const kinds = tally(of);
      const [{ kind, word }] = kinds;
      const title = of.length > 1 ? kinds.map((one) => `${one.number} ${one.word}`).join(', ') : word;
      const mark = el(
        'span',
        { class: `mark ${kind}`, tabindex: 0, dir: 'auto', title },
        piece,
        unseen(` [${title}] `),
      );
      lights.join(
        mark,
        of.map((entry) => entry.unit.id),
      );
      return mark;
    }),
  );
}

/** The kinds of underline that occur, with their words. @param {Layer} layer */
function legend(layer) {
  return el(
    'ul.legend',
    tally(layer.entries).map(({ kind, word, number }) =>
      el('li', el('span', { class: `mark ${kind}` }, word), ' ', el('span.number.soft', number)),
    ),
  );
}

/** @param {Case} record @param {Layer | undefined} layer @param {Lights} lights */
function passagesView(record, layer, lights) {
  const contexts = record.document.contexts;
  if (!contexts.length) return el('p.empty', 'This record has no passages.');
  const relevance = new Map(record.gradesOfPassages().map((entry) => [entry.unit.parent, entry]));
  const traced = layer && layer.metric === record.map?.metric ? statesOf(record) : new Map();
  return contexts.map((context) => {
    const spans = (layer?.entries || []).flatMap((entry) =>
      entry.quotes
        .filter((quote) => quote.passage === context.id && quote.start !== undefined)
        .map((quote) => ({
          start: quote.start,
          end: quote.end ?? 0,
          of: entry,
        })),
    );
    const states = (traced.get(context.id) || []).map((row) => ({
      start: row.start,
      end: row.end,
      of: row,
    }));
    const graded = relevance.get(context.id);
    const leaning = [...new Set(spans.map((span) => span.of.unit.id))];
    const head = el(
      'h3',
      { tabindex: leaning.length ? 0 : null, class: leaning.length ? 'leaned' : null },
      el('span.rank', context.rank),
      String(context.rank) === context.id ? null : foreign(context.id, { class: 'name' }),
      graded
        ? el(
            'span.grade',
            verdictSign(graded.kind, graded.word),
            graded.verdict.value === undefined ? '' : ` ${percent(graded.verdict.value)}`,
          )
        : null,
    );
    lights.join(head, leaning, { unlit: true });
    return el(
      'article',
      { class: 'passage', 'aria-label': `Passage ${context.rank}` },
      head,
      el(
        'div',
        { class: 'prose', dir: directionOf(context.text) },
        laidOut(context.text, [...spans, ...states], (piece, before) => passagePiece(piece, before, lights)),
      ),
    );
  });
}

/** @param {{text: string, of: any[]}} piece @param {{of: any[]} | null} before @param {Lights} lights */
function passagePiece(piece, before, lights) {
  const entries = piece.of.filter((one) => one.verdict);
  const row = piece.of.find((one) => !one.verdict);
  const sign = row && !before?.of.includes(row) && stateOf(row) !== 'neither' ? stateSign(row) : null;
  if (!entries.length && !row) return piece.text;
  const mark = entries.length
    ? el('span', { class: 'evidence', tabindex: 0, dir: 'auto' }, piece.text)
    : el('span', piece.text);
  lights.join(
    mark,
    entries.map((entry) => entry.unit.id),
  );
  if (row) lights.join(mark, [row.key], { passive: true });
  return [sign, mark];
}
