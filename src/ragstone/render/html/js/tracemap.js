// The sentence map of a trace: a square for each sentence, and lines from response sentences to their support.

/** @type {Record<string, string>} */
const STATES = {
  both: 'relevant and used',
  unused: 'relevant but unused',
  beside: 'used but not relevant',
  neither: 'neither',
  unknown: 'not labelled',
};

/** @param {any} row a context sentence */
function stateOf(row) {
  if (row.relevant === null || row.utilized === null) return 'unknown';
  if (row.relevant) return row.utilized ? 'both' : 'unused';
  return row.utilized ? 'beside' : 'neither';
}

/** The sentences of each passage. @param {Case} record @returns {Map<string, any[]>} */
function statesOf(record) {
  return Map.groupBy(record.map?.detail.contexts || [], (row) => row.passage);
}

/** The sign of a sentence, shown in the running text. @param {any} row */
function stateSign(row) {
  const state = stateOf(row);
  return el('span', { class: 'state-sign', title: STATES[state] }, square(state), unseen(`[${STATES[state]}] `));
}

const WHOLE_SQUARE = { x: 1, y: 1, width: 10, height: 10 };
const OUTLINE = { x: 1.75, y: 1.75, width: 8.5, height: 8.5 };
const SPOT = { cx: 6, cy: 6, r: 1.6 };
/** @type {Record<string, [string, Attributes]>} the shape for a state or a kind of verdict */
const SHAPES = {
  both: ['rect.full', WHOLE_SQUARE],
  unused: ['rect.hollow', OUTLINE],
  beside: ['path.accent', { d: 'M6 1 L11.5 11 L0.5 11 Z' }],
  neither: ['circle.faint', SPOT],
  unknown: ['rect.unknown', OUTLINE],
  yes: ['rect.full', WHOLE_SQUARE],
  no: ['path.wrong', { d: 'M1.75 1.75 H10.25 V10.25 H1.75 Z M1.75 1.75 L10.25 10.25 M10.25 1.75 L1.75 10.25' }],
  partly: ['rect.partly', OUTLINE],
  unjudged: ['rect.unknown', OUTLINE],
  trivial: ['circle.faint', SPOT],
};

/** @param {string} state */
function square(state) {
  return draw('svg', { class: 'square', viewBox: '0 0 12 12', 'aria-hidden': 'true' }, draw(...SHAPES[state]));
}

/** @param {Case} record @param {Lights} lights */
function traceView(record, lights) {
  const score = record.map;
  const detail = score.detail;
  const entries = record.of(score.metric);
  const lines = draw('svg', { class: 'ties', 'aria-hidden': 'true' });
  const reading = el('p', { class: 'reading', 'aria-live': 'polite' }, restingWords());
  /** @type {Map<string, Element>} */
  const squares = new Map();
  /** @type {Map<string, string[]>} a sentence's key to the keys of linked sentences */
  const tied = new Map(detail.contexts.map((row) => [row.key, []]));
  detail.response.forEach((row) => {
    tied.set(row.key, row.support);
    for (const key of row.support) tied.get(key)?.push(row.key);
  });
  const box = el('div.map');
  const show = (key, words) => {
    tieLines(
      box,
      lines,
      squares,
      (tied.get(key) || []).map((other) => [key, other]),
    );
    refill(reading, words);
  };
  // By default, all lines are shown faintly.
  const hide = () => {
    const all = detail.response.flatMap((row) => row.support.map((key) => [row.key, key]));
    tieLines(box, lines, squares, all, true);
    refill(reading, restingWords());
  };
  new ResizeObserver(hide).observe(box);
  const button = (key, state, word, text, number) => {
    const made = el(
      'button',
      {
        class: 'sentence',
        tabindex: squares.size ? -1 : 0,
        'aria-label': `${word}: ${shortened(text, 120)}`,
        'data-key': key,
      },
      square(state),
      el('span', { class: 'number', 'aria-hidden': 'true' }, number),
    );
    const words = [el('b', `${word}: `), foreign(text)];
    for (const event of ['pointerenter', 'focus']) made.addEventListener(event, () => show(key, words));
    for (const event of ['pointerleave', 'blur']) made.addEventListener(event, hide);
    squares.set(key, made);
    return made;
  };
  const passages = [...statesOf(record)].map(([passage, rows]) =>
    el(
      'span.block',
      el('span.soft.number', record.contexts.size < 7 ? 'passage ' : null, record.contexts.get(passage)?.rank ?? '?'),
      rows.map((row, place) => {
        const text = stretch(record.contexts.get(passage)?.text || '', row.start, row.end);
        const made = button(row.key, stateOf(row), STATES[stateOf(row)], text, place + 1);
        lights.join(made, [row.key], { passive: true });
        return made;
      }),
    ),
  );
  const response = el(
    'span.block',
    detail.response.map((row, place) => {
      const entry = entries[place];
      const made = button(row.key, entry.kind, entry.word, record.textOf(entry.unit), place + 1);
      lights.join(made, [entry.unit.id], { passive: true });
      return made;
    }),
  );
  box.addEventListener('keydown', (event) => moveSquare(event, [...squares.values()]));
  refill(
    box,
    lines,
    el('div.band', el('span.label', 'Passages'), el('div.squares', passages)),
    el('div.band.response', el('span.label', 'Response'), el('div.squares', response)),
  );
  const kept = (state) => detail.contexts.filter((row) => stateOf(row) === state);
  return el(
    'div',
    traceScores(record),
    box,
    reading,
    traceLegend(detail, entries),
    standingOut(record, kept('unused'), 'Relevant but unused'),
    standingOut(record, kept('beside'), 'Used but not relevant'),
    ['relevance', 'support'].map((what) => {
      const reason = detail[`${what}_reason`];
      return reason ? el('p.said', el('b', `${what[0].toUpperCase()}${what.slice(1)}: `), reasoned(record, reason, lights)) : null;
    }),
    detail.dropped?.length
      ? el(
          'p.note',
          `Dropped: ${plural(detail.dropped.length, 'key')} that the judge named but the record does not have.`,
        )
      : null,
    unitTable(record, [score.metric], lights, 'Sentence'),
  );
}

function restingWords() {
  return [
    el(
      'span.soft',
      'Point at a square or use the arrow keys: ',
      'its sentence appears here, with lines to its evidence.',
    ),
  ];
}

/** @param {Case} record */
function traceScores(record) {
  const found = record.document.scores.filter((score) => measureOf(score.metric).task === 'trace');
  return el(
    'dl.inline-scores',
    found.map((score) =>
      el('div', el('dt', score.metric.slice(6).replaceAll('_', ' ')), el('dd.number', percent(score.value))),
    ),
  );
}

/** @param {any} detail @param {Entry[]} entries */
function traceLegend(detail, entries) {
  const states = Object.keys(STATES).map((state) => [
    state,
    STATES[state],
    detail.contexts.filter((row) => stateOf(row) === state).length,
  ]);
  const kinds = tally(entries).map(({ kind, word, number }) => [kind, word, number]);
  const list = (rows, name) =>
    el(
      'ul',
      { class: 'legend', 'aria-label': name },
      rows
        .filter(([, , number]) => number)
        .map(([state, words, number]) => el('li', square(state), ` ${words} `, el('span.number.soft', number))),
    );
  return el('div.legends', list(states, 'Sentences of the passages'), list(kinds, 'Sentences of the response'));
}

/** @param {Case} record @param {any[]} rows @param {string} title */
function standingOut(record, rows, title) {
  if (!rows.length) return null;
  return el(
    'div.standing-out',
    el('h3', title, ' ', el('span.number.soft', rows.length)),
    el(
      'ul',
      rows
        .slice(0, 12)
        .map((row) =>
          el(
            'li',
            square(stateOf(row)),
            ' ',
            foreign(stretch(record.contexts.get(row.passage)?.text || '', row.start, row.end)),
            ' ',
            el('span.note', record.called(row.passage)),
          ),
        ),
    ),
    rows.length > 12 ? el('p.note', `and ${rows.length - 12} more, marked in the passages`) : null,
  );
}

/**
 * Draw lines between squares; the squares are highlighted unless the lines are faint.
 * @param {Element} box
 * @param {Element} lines
 * @param {Map<string, Element>} squares
 * @param {[string, string][]} pairs
 * @param {boolean} [faint]
 */
function tieLines(box, lines, squares, pairs, faint = false) {
  const frame = box.getBoundingClientRect();
  const middle = (element) => {
    const place = element.firstChild.getBoundingClientRect();
    return [place.left - frame.left + place.width / 2, place.top - frame.top + place.height / 2];
  };
  filled(lines, { viewBox: `0 0 ${frame.width} ${frame.height}`, width: frame.width, height: frame.height }, []);
  lines.replaceChildren();
  lines.classList.toggle('faint', faint);
  for (const one of squares.values()) one.classList.remove('tied');
  for (const pair of pairs) {
    const [start, target] = pair.map((key) => squares.get(key));
    if (!start || !target) continue;
    for (const one of faint ? [] : [start, target]) one.classList.add('tied');
    const [x, y] = middle(start),
      [tx, ty] = middle(target);
    lines.append(draw('path', { d: `M${x} ${y} C${x} ${(y + ty) / 2} ${tx} ${(y + ty) / 2} ${tx} ${ty}` }));
  }
}

/** @param {KeyboardEvent} event @param {Element[]} squares */
function moveSquare(event, squares) {
  const at = squares.indexOf(event.target);
  const next = {
    ArrowRight: at + 1,
    ArrowDown: at + 1,
    ArrowLeft: at - 1,
    ArrowUp: at - 1,
    Home: 0,
    End: squares.length - 1,
  }[event.key];
  if (at < 0 || next === undefined || !squares[next]) return;
  rove(event, squares, squares[next]);
  event.stopPropagation();
}
