// A judge's agreement with people: a shaded confusion matrix, and raw means beside corrected ones.

/** The section of a run; null if no agreement is attached. @param {any} told */
function agreementSection(told) {
  if (!told?.blocks.length) return null;
  const title = `Judge and ${told.blocks[0].people}`;
  return section('agreement', 'agreement', title, told.blocks.map(agreementBlock), el('p.note', foreign(told.source)));
}

function agreementBlock(block) {
  return el(
    'div.agreeing',
    el('p.reading', foreign(`${block.said}.`), ' ', el('span.soft', block.about)),
    agreementFigures(block),
  );
}

function agreementFigures(block) {
  return el('div.pair', matrixView(block), meansView(block.means));
}

/** The confusion matrix; each cell is shaded by its share of the row, also given as text. @param {any} block */
function matrixView(block) {
  const called = `${block.unit[0].toUpperCase()}${block.unit.slice(1)}s by label: ${block.people} in rows, the judge in columns; percentages are of the row`;
  const rows = block.labels.map((label, at) => {
    const all = block.counts[at].reduce((sum, one) => sum + one, 0);
    return tableRow(
      foreign(label),
      block.counts[at].map((number, column) =>
        el(
          'td',
          { class: at === column ? 'same' : 'other', css: { '--share': all ? number / all : 0 } },
          el('b', count(number)),
          el('span.soft', all ? percent(number / all, all) : DASH),
        ),
      ),
    );
  });
  const table = el(
    'table',
    { class: 'matrix', 'aria-label': called },
    el(
      'thead',
      el(
        'tr',
        el('td.soft', foreign(block.people)),
        el('th', { colspan: block.labels.length, scope: 'colgroup' }, foreign(block.judge)),
      ),
      el(
        'tr',
        el('td'),
        block.labels.map((label) => columnHead(foreign(label))),
      ),
    ),
    el('tbody', rows),
  );
  return wide(called, el('p.note', called), table);
}

/** @param {any[]} means */
function meansView(means) {
  const bodies = means.map((mean) =>
    el(
      'tbody',
      el(
        'tr',
        el(
          'th',
          { colspan: '3', scope: 'rowgroup' },
          foreign(mean.metric),
          el('span.note', foreign(mean.value === null ? ` not corrected: ${mean.note}` : ` ${mean.note}`)),
        ),
      ),
      mean.value === null
        ? null
        : [
            el('tr', meanCells('raw', mean.raw, mean.raw_ends, mean.records)),
            el('tr', meanCells(mean.called, mean.value, mean.ends, mean.records)),
          ],
    ),
  );
  return el('table.plain.means', el('caption.unseen', 'Raw and corrected means'), bodies);
}

/** @param {string} kind @param {number} value @param {[number, number] | null} ends @param {number} records */
function meanCells(kind, value, ends, records) {
  return [
    el('th', { class: 'soft', scope: 'row' }, kind),
    el('td.number', percent(value, records, ends), ends ? el('span.soft', ` (${between(ends[0], ends[1], records)})`) : null),
    whiskerCell(value, ends),
  ];
}
