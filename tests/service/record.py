#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What curl was answered, as a line for contract.mjs: record.py METHOD URL HEAD_FILE BODY_FILE."""
import json
import sys
import urllib.parse

method, url, head_file, body_file = sys.argv[1:]
parts = urllib.parse.urlsplit(url)
with open(head_file, encoding='latin-1') as file:
    # The last answer's: an interim one (100) may stand before it.
    blocks = [b for b in file.read().replace('\r\n', '\n').split('\n\n') if b.strip()]
lines = blocks[-1].split('\n')
headers = {}
for line in lines[1:]:
    name, _, value = line.partition(':')
    headers[name.strip().lower()] = value.strip()
with open(body_file, 'rb') as file:
    body = file.read()
record = {'method': method, 'target': parts.path + ('?' + parts.query if parts.query else ''),
          'status': int(lines[0].split()[1]), 'type': headers.get('content-type', ''), 'headers': headers,
          'bytes': len(body)}
if 'json' in record['type']:
    record['body'] = body.decode(errors='replace')
print(json.dumps(record))
