#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Opens connections for scripts/idle-connections and holds them: what they cost the service."""
import argparse
import json
import os
import socket
import ssl
import sys
import time
import urllib.parse


def resident(process):
    with open(f'/proc/{process}/status') as file:
        return next(int(line.split()[1]) for line in file if line.startswith('VmRSS:'))


def main():
    parser = argparse.ArgumentParser()
    for name in ('work', 'url', 'process', 'ready', 'done'):
        parser.add_argument(f'--{name}', required=True)
    parser.add_argument('--count', type=int, required=True)
    options = parser.parse_args()
    url = urllib.parse.urlparse(options.url)
    context = ssl.create_default_context(cafile=f'{options.work}/pki/ca.pem')
    context.load_cert_chain(f'{options.work}/pki/client.pem', f'{options.work}/pki/client.key')
    before, begun = resident(options.process), time.monotonic()
    held = []
    for _ in range(options.count):
        connection = context.wrap_socket(socket.create_connection((url.hostname, url.port), 30),
                                         server_hostname=url.hostname)
        # An answer: the handshake is over on the other side, too.
        connection.sendall(b'GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n')
        if not connection.recv(4096).startswith(b'HTTP/1.1 200'):
            sys.exit(f'connection {len(held) + 1} was not answered')
        held.append(connection)
    opened = time.monotonic() - begun
    time.sleep(2)
    during = resident(options.process)
    open(options.ready, 'w').close()
    while not os.path.exists(options.done):
        time.sleep(0.1)
    after_search = resident(options.process)
    alive = 0
    for connection in held:
        connection.sendall(b'GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n')
        alive += connection.recv(4096).startswith(b'HTTP/1.1 200')
    for connection in held:
        connection.close()
    time.sleep(3)
    print(json.dumps({'connections': len(held), 'still_answered': alive, 'seconds_to_open': round(opened, 1),
                      'resident_kb': {'before': before, 'open': during, 'after_a_search': after_search,
                                      'closed': resident(options.process)},
                      'kb_a_connection': round((during - before) / len(held), 1)}, indent=2))
    return 0 if alive == len(held) else 1


if __name__ == '__main__':
    sys.exit(main())
