// The verdicts on a record's units (claims, sentences, nuggets) with reasons and quotes.

/**
 * Units with the verdicts on each: a column for each of two metrics, else one for all.
 * @param {Case} record @param {string[]} metrics @param {Lights} lights @param {string} unit title of the units' column
 */
function unitTable(record, metrics, lights, unit) {
  const there = metrics.filter((metric) => record.of(metric).length);
  /** @type {Map<string, Entry[]>} */
  const rows = new Map();
  for (const metric of there)
    for (const entry of record.of(metric))
      rows.set(entry.unit.id, [...(rows.get(entry.unit.id) || []), { ...entry, metric }]);
  const ordered = [...rows.values()];
  const weighed = ordered.some(([entry]) => entry.unit.importance);
  if (weighed) ordered.sort((a, b) => rank(a[0].unit) - rank(b[0].unit));
  const apart = there.length <= 2 && (there.length < 2 || ordered.some((entries) => entries.length > 1));
  const columns = apart ? there.map((metric) => [metric]) : [there];
  return el(
    'table.units',
    tableHead(
      weighed ? columnHead('Importance') : null,
      [...(apart ? there.map(named) : ['Verdict']), unit, 'Reasons and evidence'].map((title) => columnHead(title)),
    ),
    el(
      'tbody',
      ordered.map((entries) => unitRow(record, entries, columns, weighed, lights)),
    ),
  );
}

/** @param {any} unit vital first, then okay, then unknown */
function rank(unit) {
  return unit.importance === 'vital' ? 0 : unit.importance === 'okay' ? 1 : 2;
}

/**
 * @param {Case} record
 * @param {any[]} entries
 * @param {string[][]} columns the metrics in each column of verdicts
 * @param {boolean} weighed
 * @param {Lights} lights
 */
function unitRow(record, entries, columns, weighed, lights) {
  const { unit } = entries[0];
  const row = el(
    'tr',
    { tabindex: 0 },
    weighed
      ? el(
          'td',
          { class: unit.importance === 'vital' ? 'importance vital' : 'importance' },
          unit.importance || 'unknown',
        )
      : null,
    columns.map((metrics) => {
      const given = entries.filter(({ metric }) => metrics.includes(metric));
      const told = given.map((entry) => [
        metrics.length > 1
          ? el('span.of-metric', named(entry.metric))
          : columns.length > 1
            ? el('span', { class: 'of', 'aria-hidden': 'true' }, named(entry.metric))
            : null,
        verdictSign(entry.kind, entry.word),
        scaled(entry.verdict),
        byPeople(record, entry),
      ]);
      return el('td.given', given.length ? told : DASH);
    }),
    el(
      'td.words',
      foreign(record.textOf(unit)),
      unit.confidence !== undefined && unit.confidence < 1
        ? el('span.note', `extracted with confidence ${percent(unit.confidence)}`)
        : null,
    ),
    el(
      'td.why',
      entries.map((entry) => whyOf(record, entry, entries.length > 1, lights)),
    ),
  );
  lights.join(row, [unit.id]);
  return row;
}

/** People's labels of a unit, and whether they differ from the verdict. @param {Case} record @param {any} entry */
function byPeople(record, entry) {
  const { task } = measureOf(entry.metric);
  const said = (record.document.labels || []).filter((one) => one.unit === entry.unit.id && one.task === task);
  return said.map((one) => {
    const apart = one.label !== null && one.label !== entry.verdict.label;
    const word = one.label === null ? 'cannot tell' : one.label.replaceAll('_', ' ');
    return el(
      'span',
      { class: apart ? 'people apart' : 'people' },
      foreign(`${one.annotator || 'label'}: ${word}`),
      one.label === null ? '' : apart ? ' (disagrees)' : ' (agrees)',
    );
  });
}

/** The judge's raw score and probability, unless the value or the reason already gives it. @param {any} verdict */
function scaled(verdict) {
  const parts = [];
  if (typeof verdict.raw === 'number' && verdict.raw !== verdict.value) parts.push(`raw score ${Number(verdict.raw.toFixed(2))}`);
  const probability = verdict.probability?.toFixed(2);
  if (probability && !verdict.reason?.includes(probability)) parts.push(`probability ${probability}`);
  return parts.map((part) => el('span.soft.number', part));
}

/**
 * The reason, then the quotes with their places.
 * @param {Case} record
 * @param {any} entry
 * @param {boolean} several
 * @param {Lights} lights
 */
function whyOf(record, entry, several, lights) {
  const reason = entry.verdict.failure || entry.verdict.reason;
  const giver = entry.verdict.members?.find((member) => member.reason === reason);
  const by = giver ? [foreign(shortJudges([giver.judge])[giver.judge]), ': '] : null; // a panel's reason is of one member
  const quotes = entry.quotes.map((quote) => quoteLine(record, quote, entry.metric));
  const special = entry.special.join(', ');
  if (!reason && !quotes.length && !special) return null;
  return el(
    'div.because',
    several ? el('span.note', named(entry.metric)) : null,
    reason ? el('p', entry.verdict.failure ? 'Unjudged: ' : by, reasoned(record, reason, lights)) : null,
    special ? el('p.note', foreign(special)) : null,
    quotes,
  );
}

/**
 * A judge's reason. Keys of sentences, as given to the judge, are replaced with readable names, each of which
 * highlights its sentence.
 * @param {Case} record @param {string} reason @param {Lights} lights
 */
function reasoned(record, reason, lights) {
  if (!record.sentences.size) return foreign(reason);
  const told = reason.split(/\b(\w+)\b/).map((piece) => {
    const sentence = record.sentences.get(piece);
    if (!sentence) return piece;
    const name = el(
      'span',
      { class: 'called', tabindex: 0, dir: 'ltr', title: shortened(sentence.text, 400) },
      sentence.words,
    );
    lights.join(name, [sentence.unit]);
    return name;
  });
  return el('bdi', told);
}

/** @param {Case} record @param {Quote} quote @param {string} metric */
function quoteLine(record, quote, metric) {
  const nowhere = ['assign', 'rubric'].includes(measureOf(metric).task) ? 'not in the response' : 'in no passage';
  const place =
    quote.start === undefined
      ? el('b.absent', quote.passage ? `not in ${record.called(quote.passage)}` : nowhere)
      : `${quote.verbatim ? '' : 'close match in '}${record.called(quote.passage)}`;
  return quoted(record.wordsOf(quote), place);
}

/** Ordinary and nugget scores of a record or a run, side by side. @param {Record<string, any>} methods */
function methodsTable(methods) {
  const columns = Object.entries({
    Ordinary: (found) => percent(found.plain, found.records),
    Nuggets: (found) => percent(found.nuggetized, found.records),
    Points: (found) => (found.difference === null ? DASH : signed(found.difference)),
    '95% CI': (found) => (found.interval || []).map(signed).join(`${NBSP}to${NBSP}`),
    Records: (found) => (found.records ? count(found.records) : ''),
  }).filter(([, text]) => Object.values(methods).some(text));
  const rows = Object.entries(methods).map(([aspect, found]) =>
    tableRow(
      named(aspect),
      columns.map(([title, text]) =>
        el('td.number', el('span', { class: 'of', 'aria-hidden': 'true' }, title, ' '), text(found)),
      ),
      el('td.words', found.interpretation),
    ),
  );
  return el(
    'table.units',
    tableHead(
      columnHead('Aspect'),
      columns.map(([title]) => columnHead(title, 'number')),
      columnHead('What it means'),
    ),
    el('tbody', rows),
  );
}

/** Every score of a record with its basis. @param {Case} record @param {Lights} lights */
function scoresTable(record, lights) {
  return el(
    'table.units',
    tableHead(columnHead('Metric'), columnHead('Value', 'number'), columnHead('Based on'), columnHead('Why')),
    el(
      'tbody',
      record.document.scores.map((score) => {
        const alone = record.of(score.metric).filter((entry) => entry.unit.level === 'response');
        const row = tableRow(
          named(score.metric),
          el('td.number', percent(score.value)),
          el('td.stands', standing(score)),
          el(
            'td.why',
            score.reason ? el('p', foreign(score.reason)) : null,
            alone.map((entry) => whyOf(record, { ...entry, metric: score.metric }, false, lights)),
            Object.values(score.detail?.steps || {}).map((steps) =>
              el(
                'ol.note',
                steps.map((step) => el('li', foreign(step))),
              ),
            ),
            score.signature
              ? el('p.note', 'Judged with settings that differ from the run\u2019s: ', foreign(score.signature))
              : null,
          ),
        );
        lights.join(
          row,
          alone.map((entry) => entry.unit.id),
        );
        return row;
      }),
    ),
  );
}

/** What a score is based on. @param {any} score */
function standing(score) {
  const verdicts = plural(score.asked, 'verdict');
  const judged = score.unjudged ? `${score.asked - score.unjudged} of ${verdicts}` : verdicts;
  const values = score.repeats?.values || [];
  const facts = [
    score.status === 'scored' ? '' : STATUS[score.status] || score.status,
    score.grade || (score.asked ? judged : ''),
    ...(score.facts || []),
    values.length ? `asked ${values.length} times: ${values.map((value) => percent(value)).join(', ')}` : '',
  ];
  return foreign(facts.filter(Boolean).join(' \u00b7 '));
}
