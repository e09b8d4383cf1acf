// The library that speaks the protocol, in a file of its own: reading it takes longer than all the
// rest of the extension, and only a server needs it.

export { LanguageClient, State } from 'vscode-languageclient/node';
