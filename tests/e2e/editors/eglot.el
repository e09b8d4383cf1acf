;; A pack by the function and the settings that editors/PROTOCOL.md gives for eglot.
;; Environment: DOCUMENT, ROOT. Prints one line of JSON.
(require 'eglot)
(setq eglot-sync-connect t eglot-connect-timeout 60 eglot-autoshutdown nil
      jsonrpc-default-request-timeout 60)

(defun evaluate-below (mark)
  "Evaluate the block of code that stands below MARK in the document."
  (with-temp-buffer
    (insert-file-contents (getenv "DOCUMENT"))
    (search-forward (concat "<!-- " mark " -->\n```elisp\n"))
    (let ((first (point)))
      (search-forward "\n```\n")
      (eval-region first (match-beginning 0)))))

(evaluate-below "eglot")
(evaluate-below "eglot-settings")
(find-file (expand-file-name "src/lending/policy.py" (getenv "ROOT")))
(python-mode)
(call-interactively #'eglot)
(let ((server (eglot-current-server)))
  (contextpack "objections to a checkout")
  (with-current-buffer "*contextpack*"
    (princ (json-serialize (list :text (buffer-string)
                                 :isReadOnly (if buffer-read-only t :false)))))
  (eglot-shutdown server))
