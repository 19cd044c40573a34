"""Python runs this file at its start. It hands a stage of the pipeline to the server and ends with the stage's code."""

import os
import sys

if sys.orig_argv[1:3] == ["-m", "pipeline"] and "STAGES" in os.environ:
    import json
    import socket

    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(os.environ["STAGES"])
        job = json.dumps([os.getcwd(), sys.orig_argv[3:], dict(os.environ)]).encode()
        socket.send_fds(connection, [len(job).to_bytes(8, "big")], [0, 1, 2])
        connection.sendall(job)
        code = connection.recv(1)
    os._exit(code[0] if code else 1)
