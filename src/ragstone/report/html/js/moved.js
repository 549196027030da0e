// The records that moved most, each with what both runs have of it side by side.

const AT_ONCE = 5;
const LONGEST_QUOTE = 400;
const movedBox = el('div', { class: 'moved-records' });
let filled_ = 0;

/** The metric whose records the address asks for, or the leading one. */
function chosenMetric() {
  const wanted = decodeURIComponent(/[#&]moved=([^&]*)/.exec(location.hash)?.[1] || '');
  return first.moved[wanted] ? wanted : first.moved[first.leading] ? first.leading : Object.keys(first.moved)[0] || '';
}
