// Installing the server where only this extension looks for it, when the person agrees.

import { execFile } from 'node:child_process';
import { rm } from 'node:fs/promises';
import * as os from 'node:os';
import * as path from 'node:path';
import { promisify } from 'node:util';
import * as vscode from 'vscode';
import { SCRIPTS, onPath } from './locate';

const NAMES = process.platform === 'win32' ? ['py.exe', 'python.exe'] : ['python3', 'python', 'python3.13', 'python3.12', 'python3.11'];
const IS_NEW_ENOUGH = 'import sys; sys.exit(sys.version_info < (3, 11))';

// Of what a failed program said: pip says at its end what went wrong.
const MAX_REASON_CHARS = 300;

const run = promisify(execFile);

/** It could not be installed. The message says what to do. */
export class NotInstalled extends Error {}

/**
 * Ask, then make a virtual environment in `folder` and install this version of the server there
 * with pip, which takes it from wherever the person's pip is set to. Whether they agreed.
 */
export async function installed(folder: string, version: string, log: vscode.LogOutputChannel): Promise<boolean> {
  const wanted = `contextpackd==${version}`;
  const agreed = await vscode.window.showInformationMessage(
    'Install the ContextPack server?',
    { modal: true, detail: `This makes a Python environment in ${folder} and runs \`pip install ${wanted}\` in it, which downloads from your package index. Delete the folder to undo it.` },
    'Install',
  );
  if (agreed !== 'Install') {
    return false;
  }
  const python = await found();
  const inside = path.join(folder, SCRIPTS, process.platform === 'win32' ? 'python.exe' : 'python');
  const steps: [string, string[]][] = [
    // Isolated: neither the directory nor PYTHONPATH has a say in what is imported.
    [python, ['-I', '-m', 'venv', '--clear', folder]],
    [inside, ['-I', '-m', 'pip', 'install', '--disable-pip-version-check', '--no-input', wanted]],
  ];
  const options = { location: vscode.ProgressLocation.Notification, title: `Installing ${wanted}`, cancellable: true };
  await vscode.window.withProgress(options, async (_progress, token) => {
    const giveUp = new AbortController();
    token.onCancellationRequested(() => giveUp.abort());
    try {
      for (const [program, args] of steps) {
        log.info(`running ${[program, ...args].join(' ')}`);
        const { stdout } = await run(program, args, { cwd: os.homedir(), signal: giveUp.signal });
        log.info(stdout);
      }
    } catch (error) {
      await rm(folder, { recursive: true, force: true });
      if (token.isCancellationRequested) {
        throw new vscode.CancellationError();
      }
      throw failure(error, wanted, log);
    }
  });
  return true;
}

/** A Python of PATH that the server runs on. */
async function found(): Promise<string> {
  for (const python of NAMES.flatMap(onPath)) {
    try {
      await run(python, ['-I', '-c', IS_NEW_ENOUGH], { cwd: os.homedir() });
      return python;
    } catch {
      // An older one, or none at all, such as the shop's door on Windows.
    }
  }
  throw new NotInstalled('found no Python 3.11 or newer on PATH; install one from python.org, then try again');
}

function failure(error: unknown, wanted: string, log: vscode.LogOutputChannel): NotInstalled {
  const said = (error as { stderr?: unknown }).stderr;
  const reason = (typeof said === 'string' && said.trim()) || String(error);
  log.error(reason);
  const advice = `run \`pip install ${wanted}\` yourself and name its program in the settings, or see the log`;
  return new NotInstalled(`could not install the server: ${reason.slice(-MAX_REASON_CHARS)}; ${advice}`);
}
