// What a person is asked: the task in words, and the budget.

import * as vscode from 'vscode';

const HISTORY = 'contextpack.queries';
const MAX_HISTORY = 20; // A list that one can look through.
const BUDGETS = [2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 128_000];

/** Keep a query for the next time. */
export async function remembered(state: vscode.Memento, query: string): Promise<void> {
  const before = state.get<string[]>(HISTORY, []).filter((one) => one !== query);
  await state.update(HISTORY, [query, ...before].slice(0, MAX_HISTORY));
}

/** The task, typed or taken from the history; undefined if the person gave up. */
export function askedForQuery(state: vscode.Memento): Promise<string | undefined> {
  const pick = vscode.window.createQuickPick();
  const history = state.get<string[]>(HISTORY, []);
  const listed = (typed: string): vscode.QuickPickItem[] => [
    ...(typed === '' ? [] : [{ label: typed, description: 'pack context for this', alwaysShow: true }]),
    ...history.filter((one) => one !== typed).map((label) => ({ label })),
  ];
  pick.title = 'Pack Context';
  pick.placeholder = 'What do you want to do?';
  pick.items = listed('');
  return new Promise((resolve) => {
    pick.onDidChangeValue((typed) => (pick.items = listed(typed)));
    pick.onDidAccept(() => {
      resolve(pick.selectedItems[0]?.label ?? (pick.value || undefined));
      pick.hide();
    });
    pick.onDidHide(() => {
      resolve(undefined);
      pick.dispose();
    });
    pick.show();
  });
}

/** The budget in tokens; undefined for the settings', null if the person gave up. */
export async function askedForBudget(last: number | undefined): Promise<number | undefined | null> {
  const fixed: (vscode.QuickPickItem & { tokens: number | undefined })[] = [
    { label: 'As set', description: 'the settings say', tokens: undefined },
    ...BUDGETS.map((tokens) => ({ label: `${tokens / 1000}k`, description: 'tokens', tokens })),
  ];
  const isLast = (tokens: number | undefined): boolean => tokens === last;
  const known = fixed.some((one) => isLast(one.tokens));
  const listed = known ? fixed : [{ label: String(last), description: 'tokens', tokens: last }, ...fixed];
  // The first one is what Enter takes.
  listed.sort((a, b) => Number(isLast(b.tokens)) - Number(isLast(a.tokens)));
  const other = { label: 'Other...', tokens: undefined };
  const picked = await vscode.window.showQuickPick([...listed, other], { title: 'Budget', placeHolder: 'Most tokens the bundle may have' });
  return picked === other ? typedBudget() : picked === undefined ? null : picked.tokens;
}

async function typedBudget(): Promise<number | null> {
  const isNumber = /^[1-9]\d*$/;
  const typed = await vscode.window.showInputBox({
    title: 'Budget',
    prompt: 'Most tokens the bundle may have',
    validateInput: (text) => (isNumber.test(text) ? undefined : 'a whole number above 0'),
  });
  return typed === undefined ? null : Number(typed);
}
