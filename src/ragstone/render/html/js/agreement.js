// How far a judge agrees with people: the confusion matrix as a picture, and raw means beside corrected ones.

/** The section of a run; nothing where no agreement is attached. @param {any} told */
function agreementSection(told) {
  if (!told?.blocks.length) return null;
  return el(
    'section',
    { class: 'agreement', 'aria-labelledby': 'agreement' },
    el('h2', { id: 'agreement' }, `Judge and ${told.blocks[0].people}`),
    told.blocks.map(agreementBlock),
    el('p', { class: 'note' }, foreign(told.source)),
  );
}

/** @param {any} block */
function agreementBlock(block) {
  return el(
    'div',
    { class: 'agreeing' },
    el('p', { class: 'reading' }, foreign(`${block.said}.`), ' ', el('span', { class: 'soft' }, block.about)),
    el('div', { class: 'pair' }, matrixView(block), meansView(block.means)),
  );
}

/** A cell is shaded by its share of its row; it also says it. @param {any} block */
function matrixView(block) {
  const called = `Number of ${block.unit}s by label from ${block.people} (row) and the judge (column), with percent of the row`;
  const rows = block.labels.map((/** @type {string} */ label, /** @type {number} */ at) => {
    const all = block.counts[at].reduce((/** @type {number} */ sum, /** @type {number} */ one) => sum + one, 0);
    return el(
      'tr',
      null,
      el('th', { scope: 'row' }, foreign(label)),
      block.counts[at].map((/** @type {number} */ number, /** @type {number} */ column) =>
        el(
          'td',
          { class: at === column ? 'same' : 'other', css: { '--share': all ? number / all : 0 } },
          el('b', null, count(number)),
          el('span', { class: 'soft' }, all ? percent(number / all, all) : DASH),
        ),
      ),
    );
  });
  const table = el(
    'table',
    { class: 'matrix', 'aria-label': called },
    el(
      'thead',
      null,
      el(
        'tr',
        null,
        el('td', { class: 'soft' }, foreign(block.people)),
        el('th', { colspan: block.labels.length, scope: 'colgroup' }, foreign(block.judge)),
      ),
      el(
        'tr',
        null,
        el('td'),
        block.labels.map((/** @type {string} */ label) => el('th', { scope: 'col' }, foreign(label))),
      ),
    ),
    el('tbody', null, rows),
  );
  return el(
    'div',
    { class: 'wide', tabindex: '0', role: 'region', 'aria-label': called },
    el('p', { class: 'note' }, called),
    table,
  );
}

/** @param {any[]} means */
function meansView(means) {
  const bodies = means.map((mean) =>
    el(
      'tbody',
      null,
      el(
        'tr',
        null,
        el(
          'th',
          { colspan: '3', scope: 'rowgroup' },
          foreign(mean.metric),
          el(
            'span',
            { class: 'note' },
            foreign(mean.value === null ? ` not corrected: ${mean.note}` : ` ${mean.note}`),
          ),
        ),
      ),
      mean.value === null
        ? null
        : [
            el('tr', null, meanCells('raw', mean.raw, mean.raw_ends)),
            el('tr', null, meanCells(mean.called, mean.value, mean.ends)),
          ],
    ),
  );
  return el('table', { class: 'plain means' }, el('caption', { class: 'unseen' }, 'Raw and corrected means'), bodies);
}

/** @param {string} kind @param {number} value @param {[number, number] | null} ends */
function meanCells(kind, value, ends) {
  return [
    el('th', { class: 'soft', scope: 'row' }, kind),
    el(
      'td',
      { class: 'number' },
      percent(value),
      ends ? el('span', { class: 'soft' }, ` (${between(ends[0], ends[1])})`) : null,
    ),
    el(
      'td',
      { class: 'drawn' },
      draw(
        'svg',
        { viewBox: '-5 0 170 14', 'aria-hidden': 'true' },
        draw('line', { x1: 0, x2: 160, y1: 7, y2: 7, class: 'axis' }),
        whisker(value, ends, 160, 7),
      ),
    ),
  ];
}
