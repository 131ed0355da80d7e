"""How each kind of task is run, one file per kind behind one small protocol (`executor.py`).

`function.py` runs Python functions, `shell.py` commands, `http.py` requests, `email.py` and `pdf.py` what their names
say. `catalogue.py` puts them together for a worker.
"""
