;; A pack through eglot. Environment: SERVER_PYTHON, ROOT. Prints one line of JSON.
(require 'eglot)
(setq eglot-sync-connect t eglot-connect-timeout 60 eglot-autoshutdown nil
      jsonrpc-default-request-timeout 60)
(add-to-list 'eglot-server-programs
             `(python-mode . (,(getenv "SERVER_PYTHON") "-P" "-m" "contextpackd" "lsp")))
(find-file (expand-file-name "src/lending/policy.py" (getenv "ROOT")))
(python-mode)
(call-interactively #'eglot)
(let* ((server (eglot-current-server))
       (pack (jsonrpc-request server :workspace/executeCommand
              '(:command "contextpack.pack"
                :arguments [(:query "objections to a checkout" :budgetTokens 900)]))))
  (princ (json-serialize (list :text (plist-get pack :text) :packId (plist-get pack :packId))))
  (eglot-shutdown server))
