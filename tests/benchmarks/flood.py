"""A server that does nothing but send: prebuilt messages as fast as the socket takes them.

It speaks just enough of RFC 6455 to be talked to by `websockets`, so that in a benchmark the
receiver is what is measured. Run as its own process; it prints its port and serves one client after
another until its standard input closes.
"""

from __future__ import annotations

import base64
import hashlib
import json
import socket
import sys
import threading

LANE = "flood"
CLOSE = 0x88
"""The first byte of the message that ends a connection."""


def messages(count: int) -> list[str]:
    """One response of `count` messages: nearly all text deltas, as in real recordings."""
    head = {
        "id": "resp_flood",
        "object": "response",
        "created_at": 1,
        "status": "in_progress",
        "model": "gpt-6-astra",
        "output": [],
        "parallel_tool_calls": True,
        "tools": [],
        "tool_choice": "auto",
    }
    item = {"id": "msg_flood", "type": "message", "role": "assistant", "status": "in_progress"}
    found = [
        {"type": "response.created", "response": head},
        {"type": "response.in_progress", "response": head},
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "content": []}},
        {
            "type": "response.content_part.added",
            "item_id": "msg_flood",
            "output_index": 0,
            "content_index": 0,
            "part": {"type": "output_text", "text": "", "annotations": []},
        },
    ]
    found += [
        {
            "type": "response.output_text.delta",
            "item_id": "msg_flood",
            "output_index": 0,
            "content_index": 0,
            "delta": f" word{number % 977}",
            "logprobs": [],
            "obfuscation": "Zm9vYmFyYmF6cXV4"[: 8 + number % 8],
        }
        for number in range(count - len(found) - 1)
    ]
    found.append({"type": "response.completed", "response": {**head, "status": "completed"}})
    return [
        json.dumps({**message, "sequence_number": number, "stream_id": LANE})
        for number, message in enumerate(found)
    ]


def frame(text: str) -> bytes:
    """One unmasked text message."""
    data = text.encode()
    if len(data) < 126:
        return bytes([0x81, len(data)]) + data
    return bytes([0x81, 126]) + len(data).to_bytes(2, "big") + data


def serve(connection: socket.socket, stream: bytes) -> None:
    """Answer the upgrade, wait for the first message, send everything, wait for the end."""
    with connection:
        request = b""
        while b"\r\n\r\n" not in request:
            request += connection.recv(65536)
        key = next(
            line.split(b":", 1)[1].strip()
            for line in request.split(b"\r\n")
            if line.lower().startswith(b"sec-websocket-key")
        )
        accept = base64.b64encode(
            hashlib.sha1(key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest()
        )
        connection.sendall(
            b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Accept: " + accept + b"\r\n\r\n"
        )
        connection.recv(65536)
        try:
            connection.sendall(stream)
            while said := connection.recv(65536):
                if said[0] == CLOSE:  # else the client waits for an answer, for seconds
                    connection.sendall(bytes([CLOSE, 0]))
                    return
        except ConnectionError:
            pass  # the client has seen enough


def main() -> None:
    stream = b"".join(frame(text) for text in messages(int(sys.argv[1])))
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)

    def accept() -> None:
        while True:
            connection, _ = listener.accept()
            serve(connection, stream)

    threading.Thread(target=accept, daemon=True).start()
    sys.stdin.read()


if __name__ == "__main__":
    main()
