#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The load, the supervisor and the judge of scripts/soak-service.

Each person is in the gallery, out of it, or on the way. Only of those who stood still from before a request
until after its answer is an answer right or wrong. A change that was acknowledged must show for good, and who
is removed at the end must have a receipt that is younger. What is asked again has the same idempotency key: that
somebody is not there is no answer to a removal. Answers that no kill and no load explain (500, and of a search any
4xx but 429) are failures; 429, 503 and 504 are counted, and apart where no kill was within 20 seconds.
"""
import argparse
import base64
import http.client
import json
import os
import random
import secrets
import signal
import ssl
import subprocess
import sys
import threading
import time
import urllib.parse

from daemons import Daemon, memory

SAMPLES = 4  # of each person in the data
PEOPLE = 24
ACKNOWLEDGED_WITHIN = 60  # seconds, kills included
ERASED_WITHIN = 180  # seconds after the last removal
KILL_EXPLAINS = 20  # seconds after it


class Caller:
    """Requests with one certificate; a connection a thread, opened again when it breaks."""

    def __init__(self, world, name):
        self.world = world
        self.url = urllib.parse.urlparse(world.matching)
        self.context = ssl.create_default_context(cafile=f'{world.work}/pki/ca.pem')
        self.context.load_cert_chain(f'{world.work}/pki/{name}.pem', f'{world.work}/pki/{name}.key')
        self.connection = None

    def ask(self, method, path, body=None, content_type=None, headers=None):
        """Status and JSON; None where no answer came."""
        sent = {'X-Heft-Nonce': base64.urlsafe_b64encode(secrets.token_bytes(16)).decode().rstrip('='),
                'X-Heft-Time': str(int(time.time())), **(headers or {})}
        if content_type:
            sent['Content-Type'] = content_type
        try:
            if self.connection is None:
                self.connection = http.client.HTTPSConnection(
                    self.url.hostname, self.url.port, context=self.context, timeout=40)
            self.connection.request(method, path, body, sent)
            response = self.connection.getresponse()
            text = response.read()
            self.world.record(method, path, response, text)
            if response.status == 500:
                self.world.failures.append({'asked': f'{method} {path}', 'answer': text.decode(errors='replace')})
            return response.status, json.loads(text) if text else {}
        except (OSError, http.client.HTTPException, ssl.SSLError, ValueError):
            if self.connection is not None:
                self.connection.close()
            self.connection = None
            return None


class Person:
    def __init__(self, index, label):
        self.index, self.label = index, f'person-{label}'
        self.state, self.version = 'out', 0
        self.receipt = None  # the id of the person there in receipts
        self.removed = 0  # Unix seconds before the last removal
        self.lock = threading.Lock()

    def stand(self):
        with self.lock:
            return self.state, self.version

    def move(self, state):
        with self.lock:
            self.state, self.version = state, self.version + 1


class World:
    def __init__(self, options):
        self.work, self.heft = options.work, options.heft
        self.matching, self.deciding = options.matching, options.deciding
        with open(f'{self.work}/data/labels.txt') as file:
            labels = file.read().split()
        self.people = [Person(i, labels[SAMPLES * i]) for i in range(PEOPLE)]
        self.modalities = sorted(name[:-4] for name in os.listdir(f'{self.work}/data') if name.endswith('.npy'))
        self.counts = {}
        self.wrong, self.lost, self.failures = [], [], []
        self.pause, self.last_kill = options.pause, 0.0
        self.lock = threading.Lock()
        self.ending = threading.Event()
        records = os.environ.get('HEFT_OPENAPI_RECORDS')
        self.records = open(os.path.join(records, 'soak.jsonl'), 'w') if records else None

    def record(self, method, target, response, text):
        """For tests/service/contract.mjs."""
        if self.records is None:
            return
        kind = response.getheader('Content-Type', '')
        line = {'method': method, 'target': target, 'status': response.status, 'type': kind,
                'headers': {name.lower(): value for name, value in response.getheaders()}, 'bytes': len(text)}
        if 'json' in kind:
            line['body'] = text.decode(errors='replace')
        with self.lock:
            self.records.write(json.dumps(line) + '\n')

    def refused(self, what, status):
        self.count(f'{what}_refused_{status}')
        if status in (429, 503, 504) and time.monotonic() - self.last_kill > KILL_EXPLAINS:
            self.count(f'{what}_refused_{status}_without_a_kill')

    def count(self, name, by=1):
        with self.lock:
            self.counts[name] = self.counts.get(name, 0) + by

    def form(self, row, use, more=None):
        """A fresh encryption of a row, as multipart/form-data."""
        folder = f'{self.work}/samples-{threading.get_ident()}'
        os.makedirs(folder, exist_ok=True)
        parts = []
        for modality in self.modalities:
            out = f'{folder}/{modality}.ct'
            subprocess.run([self.heft, 'encrypt', '--quiet', '--model', f'{self.work}/matcher/model.heft', '--key',
                            f'{self.work}/matcher/encryption.key', '--modality', modality, '--in',
                            f'{self.work}/data/{modality}.npy', '--row', str(row), '--for', use, '--out', out],
                           check=True, stdout=subprocess.DEVNULL)
            with open(out, 'rb') as file:
                parts.append(('template', 'application/vnd.heft', file.read()))
        if more is not None:
            parts.append(('request', 'application/json', json.dumps(more).encode()))
        boundary = secrets.token_hex(16)
        body = b''.join(f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"; filename="{name}"\r\n'
                        f'Content-Type: {kind}\r\n\r\n'.encode() + data + b'\r\n' for name, kind, data in parts)
        return body + f'--{boundary}--\r\n'.encode(), f'multipart/form-data; boundary={boundary}'


def until_acknowledged(world, caller, what, method, path, body=None, content_type=None):
    """Asks again with the same idempotency key until there is an answer that is no "not now"."""
    key = secrets.token_hex(16)
    deadline = time.monotonic() + ACKNOWLEDGED_WITHIN
    while time.monotonic() < deadline:
        answer = caller.ask(method, path, body, content_type, {'Idempotency-Key': key})
        if answer is not None and answer[0] not in (429, 500, 502, 503, 504):
            return answer
        if answer is not None:
            world.refused(what, answer[0])
        world.count(f'{what}_asked_again')
        time.sleep(0.3)
    return None


def change(world, seed):
    """The registrar: brings people in and takes them out."""
    caller, dice = Caller(world, 'registrar'), random.Random(seed)
    mine = world.people[seed % 2::2]
    while not world.ending.is_set():
        person = dice.choice(mine)
        state, _ = person.stand()
        path = f'/v1/persons/{person.label}'
        if state == 'out':
            person.move('moving')
            body, kind = world.form(SAMPLES * person.index + dice.randrange(2), 'enrolment', {'galleries': ['visitors']})
            answer = until_acknowledged(world, caller, 'enrolments', 'POST', f'{path}/encounters', body, kind)
            if answer is None or answer[0] not in (200, 201, 202):
                world.lost.append({'enrolment': person.label, 'answer': answer})
                continue
            world.count('enrolments')
            # Pending, durable: it must come in by itself.
            deadline = time.monotonic() + ACKNOWLEDGED_WITHIN
            seen = None
            while time.monotonic() < deadline:
                seen = caller.ask('GET', f'{path}?gallery=visitors')
                if seen is not None and seen[0] == 200 and any(g['templates'] for g in seen[1]['galleries']):
                    person.receipt = seen[1]['galleries'][0]['templates'][0]['receipt_id']
                    person.move('in')
                    break
                time.sleep(0.2)
            else:
                world.lost.append({'admission': person.label, 'answer': seen})
        elif state == 'in':
            person.move('moving')
            person.removed = int(time.time())
            answer = until_acknowledged(world, caller, 'removals', 'DELETE', f'{path}?gallery=visitors')
            if answer is None or answer[0] not in (200, 202):
                world.lost.append({'removal': person.label, 'answer': answer})
                continue
            world.count('removals')
            world.count(f'removals_{answer[0]}')
            person.move('out')
        time.sleep(dice.random())


def search(world, seed):
    """A client: identifies people, some of whom are not there."""
    caller, dice = Caller(world, 'client'), random.Random(seed)
    while not world.ending.is_set():
        person = dice.choice(world.people)
        state, version = person.stand()
        body, kind = world.form(SAMPLES * person.index + 2 + dice.randrange(2), 'identification')
        answer = caller.ask('POST', '/v1/identify/visitors', body, kind, {'Accept': 'application/json'})
        still = person.stand() == (state, version)
        if answer is None:
            world.count('searches_without_answer')
            time.sleep(0.2)
        elif answer[0] != 200:
            world.refused('searches', answer[0])
            if answer[0] not in (429, 500, 503, 504):
                world.failures.append({'asked': 'identify', 'answer': answer})
            time.sleep(0.2)
        else:
            world.count('searches')
            if not still or state == 'moving':
                world.count('searches_of_somebody_on_the_way')
            elif state == 'in' and answer[1].get('identity') != person.label:
                world.wrong.append({'of': person.label, 'enrolled': True, 'said': answer[1]})
            elif state == 'out' and answer[1]['accepted']:
                world.wrong.append({'of': person.label, 'enrolled': False, 'said': answer[1]})
        world.ending.wait(dice.random() * world.pause)


def trouble(world, daemons, minutes):
    """A reload of both and a kill of either, each minute, at some moment of it."""
    dice = random.Random(7)
    for minute in range(int(minutes * 60) // 60 or 1):
        moments = sorted(dice.uniform(2, min(60, minutes * 60) - 2) for _ in range(2))
        begun = time.monotonic()
        for moment, act in zip(moments, dice.sample(['reload', 'kill'], 2)):
            if world.ending.wait(max(0, moment - (time.monotonic() - begun))):
                return
            for daemon in daemons if act == 'reload' else [daemons[minute % 2]]:
                daemon.signal(signal.SIGHUP if act == 'reload' else signal.SIGKILL)
                world.count(f'{act}s_of_{daemon.name}')
                if act == 'kill':
                    world.last_kill = time.monotonic()
        if world.ending.wait(max(0, 60 - (time.monotonic() - begun))):
            return


def check_end(world, operator):
    """What stands in the gallery is what was acknowledged."""
    for _ in range(100):
        page = operator.ask('GET', '/v1/persons?gallery=visitors&count=200')
        if page is not None and page[0] == 200:
            break
        time.sleep(0.2)
    there = {p['personId'] for p in page[1]['persons']}
    for person in world.people:
        state, _ = person.stand()
        if state != 'moving' and (person.label in there) != (state == 'in'):
            world.lost.append({'at the end': person.label, 'acknowledged': state})


def check_receipts(world, operator):
    """Nothing is left of anybody who was removed, and a signed receipt says so of each who is gone."""
    deadline = time.monotonic() + ERASED_WITHIN
    leaving = None
    while leaving != 0 and time.monotonic() < deadline:
        gallery = operator.ask('GET', '/v1/galleries/visitors')
        leaving = gallery[1].get('leaving') if gallery is not None else None
        time.sleep(0.5)
    erased, receipts, cursor = {}, 0, '0'
    while cursor is not None:
        page = operator.ask('GET', f'/v1/receipts?gallery=visitors&count=200&cursor={cursor}')
        if page is None or page[0] != 200:
            if time.monotonic() > deadline + 60:
                break
            time.sleep(0.2)
            continue
        for receipt in page[1]['receipts']:
            receipts += 1
            for who in receipt['persons']:
                erased[who] = max(erased.get(who, 0), receipt['erased'])
        cursor = page[1].get('next')
    gone = [p for p in world.people if p.state == 'out' and p.removed > 0]
    for person in gone:
        if erased.get(person.receipt, 0) < person.removed:
            world.lost.append({'receipt of': person.label, 'removed': person.removed, 'has': erased.get(person.receipt)})
    return {'leaving': leaving, 'receipts': receipts, 'gone_with_a_receipt': sum(
        erased.get(p.receipt, 0) >= p.removed for p in gone), 'gone': len(gone)}


def main():
    parser = argparse.ArgumentParser()
    for name in ('work', 'heft', 'matcher', 'decider', 'matching', 'deciding'):
        parser.add_argument(f'--{name}', required=True)
    parser.add_argument('--minutes', type=float, required=True)
    parser.add_argument('--pause', type=float, default=0.0, help='seconds between searches, at most')
    options = parser.parse_args()
    world = World(options)
    work = options.work
    daemons = [Daemon('matcher', [options.matcher, 'serve', '--config', f'{work}/matcher/matcher.toml'], f'{work}/matcher'),
               Daemon('decider', [options.decider, 'serve', '--config', f'{work}/owner/decider.toml'], f'{work}/owner',
                      f'{work}/owner/passphrase')]
    operator = Caller(world, 'operator')
    for _ in range(300):
        ready = operator.ask('GET', '/health/ready')
        if ready is not None and ready[0] == 200:
            break
        time.sleep(0.1)
    else:
        sys.exit('the matcher does not become ready')

    def supervise():
        while not stopping.wait(0.2):
            for daemon in daemons:
                daemon.watch()

    stopping = threading.Event()
    supervisor = threading.Thread(target=supervise)
    supervisor.start()
    threads = [threading.Thread(target=change, args=(world, seed)) for seed in (0, 1)]
    threads += [threading.Thread(target=search, args=(world, seed)) for seed in (10, 11)]
    threads.append(threading.Thread(target=trouble, args=(world, daemons, options.minutes)))
    begun = time.monotonic()
    for thread in threads:
        thread.start()
    time.sleep(options.minutes * 60)
    world.ending.set()
    for thread in threads:
        thread.join(2 * ACKNOWLEDGED_WITHIN)
    check_end(world, operator)
    receipts = check_receipts(world, operator)
    stopping.set()
    supervisor.join()
    clean = {daemon.name: daemon.stop() for daemon in daemons}
    result = {'minutes': options.minutes, 'wrong_answers': len(world.wrong), 'lost_changes': len(world.lost),
              'unexpected_ends': {d.name: d.unexpected for d in daemons}, 'stopped_cleanly': clean,
              'starts': {d.name: d.starts for d in daemons}, 'counts': dict(sorted(world.counts.items())), 'failures': len(world.failures), **receipts,
              'memory': {d.name: memory(d, time.monotonic() - begun) for d in daemons},
              'wrong': world.wrong[:5], 'lost': world.lost[:5], 'failed': world.failures[:5]}
    for audited in (f'{work}/matcher/audit.log', f'{work}/owner/audit.log'):
        checked = subprocess.run([options.heft, 'audit', audited], capture_output=True, text=True)
        result.setdefault('audit_logs_intact', []).append(checked.returncode == 0)
    print(json.dumps(result, indent=2))
    grown = any(m['last_quarter_kb'] > 1.1 * m['second_quarter_kb'] + 16384 for m in result['memory'].values())
    bad = world.wrong or world.lost or world.failures or receipts['leaving'] != 0 or any(result['unexpected_ends'].values()) or not all(clean.values()) or grown \
        or not all(result['audit_logs_intact']) or not world.counts.get('searches')
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main())
