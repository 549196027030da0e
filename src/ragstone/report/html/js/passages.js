// The two columns of a record: the response with its verdicts, the passages with the evidence.

/** @param {Case} record @param {Layer | undefined} layer @param {Lights} lights */
function responseText(record, layer, lights) {
  const text = record.document.response;
  if (text === null) return el('p', { class: 'empty' }, 'This record has no response.');
  if (!text.trim()) return el('p', { class: 'empty' }, 'The response is blank: there was nothing to judge.');
  const words = layer ? wordsFor(layer.metric) : SUPPORT;
  const spans = (layer?.entries || []).flatMap((entry) =>
    entry.spans.map(({ start, end }) => ({ start, end, of: entry })),
  );
  return el(
    'div',
    { class: 'prose', dir: directionOf(text) },
    pieces(text, spans).map(({ text: piece, of }) => {
      if (!of.length) return piece;
      const kind = worstOf(of.map((entry) => entry.kind));
      const mark = el(
        'span',
        { class: `mark ${kind}`, tabindex: 0, dir: 'auto', title: of.length > 1 ? summed(of, words) : words[kind] },
        piece,
        unseen(` [${of.length > 1 ? summed(of, words) : words[kind]}] `),
      );
      lights.join(
        mark,
        of.map((entry) => entry.unit.id),
      );
      return mark;
    }),
  );
}

/** @param {Entry[]} entries @param {Record<Kind, string>} words */
function summed(entries, words) {
  return WORST_FIRST.map((kind) => [kind, entries.filter((entry) => entry.kind === kind).length])
    .filter(([, number]) => number)
    .map(([kind, number]) => `${number} ${words[/** @type {Kind} */ (kind)]}`)
    .join(', ');
}

/** The kinds of underline that are there, with their words. @param {Layer} layer */
function legend(layer) {
  const words = wordsFor(layer.metric);
  const kinds = WORST_FIRST.filter((kind) => layer.entries.some((entry) => entry.kind === kind));
  return el(
    'ul',
    { class: 'legend' },
    kinds.map((kind) =>
      el(
        'li',
        null,
        el('span', { class: `mark ${kind}` }, words[kind]),
        ' ',
        el('span', { class: 'number soft' }, layer.entries.filter((entry) => entry.kind === kind).length),
      ),
    ),
  );
}

/** @param {Case} record @param {Layer | undefined} layer @param {Lights} lights */
function passagesView(record, layer, lights) {
  const contexts = record.document.contexts;
  if (!contexts.length) return el('p', { class: 'empty' }, 'This record has no contexts.');
  const relevance = new Map(record.of('context_relevance').map((entry) => [entry.unit.parent, entry]));
  const traced = layer?.metric === TRACE ? statesOf(record) : new Map();
  return contexts.map((/** @type {any} */ context) => {
    const spans = (layer?.entries || []).flatMap((entry) =>
      entry.quotes
        .filter((quote) => quote.passage === context.id && quote.start !== undefined)
        .map((quote) => ({
          start: /** @type {number} */ (quote.start),
          end: quote.end ?? 0,
          of: /** @type {any} */ (entry),
        })),
    );
    const states = (traced.get(context.id) || []).map((/** @type {any} */ row) => ({
      start: row.start,
      end: row.end,
      of: row,
    }));
    const graded = relevance.get(context.id);
    const leaning = [...new Set(spans.map((span) => span.of.unit.id))];
    const head = el(
      'h3',
      { tabindex: leaning.length ? 0 : null, class: leaning.length ? 'leaned' : null },
      el('span', { class: 'rank' }, context.rank),
      String(context.rank) === context.id ? null : foreign(context.id, { class: 'name' }),
      graded
        ? el(
            'span',
            { class: 'grade' },
            verdictSign(graded.kind, RELEVANCE),
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
        pieces(context.text, [...spans, ...states]).map((piece, place, all) =>
          passagePiece(piece, all[place - 1], lights),
        ),
      ),
    );
  });
}

/** @param {{text: string, of: any[]}} piece @param {{of: any[]} | undefined} before @param {Lights} lights */
function passagePiece(piece, before, lights) {
  const entries = piece.of.filter((one) => one.verdict);
  const row = piece.of.find((one) => !one.verdict);
  const sign = row && !before?.of.includes(row) && stateOf(row) !== 'neither' ? stateSign(row) : null;
  if (!entries.length && !row) return piece.text;
  const mark = entries.length
    ? el('span', { class: 'evidence', tabindex: 0, dir: 'auto' }, piece.text)
    : el('span', null, piece.text);
  lights.join(
    mark,
    entries.map((entry) => entry.unit.id),
  );
  if (row) lights.join(mark, [row.key], { passive: true });
  return [sign, mark];
}
