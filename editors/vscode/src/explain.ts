// What the server says of scores and of single files, as Markdown.

import type { Explanation, Why } from './protocol';

/** The ranking of files, each score with its parts. */
export function explanationText(found: Explanation): string {
  const rows = found.files.map((file) => {
    const parts = Object.entries(file.parts).map(([name, value]) => `${name} ${value.toFixed(3)}`);
    return `| ${file.score.toFixed(3)} | \`${file.path}\` | ${parts.join(', ')} |`;
  });
  const unknown = found.unknownWords.length > 0 ? `\nNowhere in the workspace: ${found.unknownWords.join(', ')}\n` : '';
  return [
    `${found.nRanked} of ${found.nFiles} files have a score; these have the best.`,
    unknown,
    '| score | file | parts |',
    '| ---: | --- | --- |',
    ...rows,
    '',
  ].join('\n');
}

/** Why a file is in or out, and what would change that. */
export function whyText(found: Why): string {
  const [first, last] = found.lines ?? [];
  const place = first === undefined ? found.path : `${found.path}:${first}-${last}`;
  const stands = { in: 'in', part: 'partly in', out: 'out of' }[found.state];
  const shown = found.ranges.map(([from, to]) => `${from}-${to}`).join(', ');
  const scored = found.score === null ? '' : `score ${found.score.toFixed(3)}; ${found.lines ? 'the lowest in by its own score' : 'the lowest in'} has ${found.cutScore.toFixed(3)}`;
  const facts = [
    shown && `Shown are lines ${shown} of the file.`,
    found.rank !== null && `It has rank ${found.rank} of ${found.nRanked}: ${scored}.`,
    found.admission && admission(found.admission),
    found.displaces && displaced(found.displaces),
  ];
  const parts = Object.entries(found.parts).sort(([, a], [, b]) => b - a);
  const table = ['| part | |', '| --- | ---: |', ...parts.map(([name, value]) => `| ${name} | ${value.toFixed(3)} |`)];
  return [
    `\`${place}\` is ${stands} the bundle: ${found.because}.`,
    '',
    ...facts.filter(Boolean).map((fact) => `- ${String(fact)}`),
    '',
    ...(parts.length > 0 ? [...table, '', found.scoreRule, ''] : []),
  ].join('\n');
}

function admission({ budgetTokens, mostTokens, nUntried, outAgainAt, inAgainAt, way }: NonNullable<Why['admission']>): string {
  if (budgetTokens === null) {
    return `No budget up to ${mostTokens} tokens lets it in.`;
  }
  const found = nUntried > 0 ? 'found ' : '';
  const as = { named: '', chosen: '', cut: ', cut', outline: ', in outline', pointer: ', as a pointer', along: ', along with others' }[way ?? 'chosen'];
  const larger = outAgainAt === null ? 'a larger one may leave it out' : `it is out again at ${outAgainAt}`;
  const again = inAgainAt === null ? '' : `, in at ${inAgainAt}`;
  return `${budgetTokens} tokens is the smallest budget ${found}that lets it in${as}; ${larger}${again}.`;
}

function displaced({ by, fits, files }: NonNullable<Why['displaces']>): string {
  const way = by === 'pin' ? 'Pinned' : 'Put first';
  if (!fits) {
    return `${way}, it does not fit either.`;
  }
  const left = files.map(({ path, gone }) => (gone ? path : `parts of ${path}`));
  return left.length > 0 ? `${way}, it takes the place of ${left.join(', ')}.` : `${way}, nothing has to leave.`;
}
