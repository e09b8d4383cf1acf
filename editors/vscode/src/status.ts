// The item in the status bar: `ctx 7.9k/8k · 12 files · live`.

import * as vscode from 'vscode';
import type { Packing } from './packing';
import { shortly } from './tree';

/** An item that follows the pack, and is not there before the first one. */
export function showStatus(packing: Packing): vscode.Disposable {
  const item = vscode.window.createStatusBarItem('contextpack.status', vscode.StatusBarAlignment.Left);
  item.name = 'Context Pack';
  item.command = 'contextpack.setBudget';
  item.tooltip = 'The budget of the context pack';
  const following = packing.onDidChange(() => {
    const { pack } = packing;
    if (packing.isAsking) {
      item.text = '$(sync~spin) ctx';
    } else if (pack !== undefined) {
      const size = `ctx ${shortly(pack.tokens)}/${shortly(pack.budgetTokens)}`;
      item.text = [size, `${pack.items.length} files`, ...(packing.isLive ? ['live'] : [])].join(' · ');
    }
    if (packing.isAsking || pack !== undefined) {
      item.show();
    } else {
      item.hide();
    }
  });
  return vscode.Disposable.from(item, following);
}
