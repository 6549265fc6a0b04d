# Verifies each DKIM signature of the messages on stdin with dkimpy; the records are those it is given, no DNS is asked.
import base64
import json
import sys

import dkim

given = json.load(sys.stdin)
records = {name.encode() + b'.': value.encode() for name, value in given['records'].items()}


def lookup(name, timeout=5):
    return records.get(name if isinstance(name, bytes) else name.encode())


def verify(message):
    checker = dkim.DKIM(message)
    count = sum(1 for name, _ in checker.headers if name.lower() == b'dkim-signature')
    results = []
    for index in range(count):
        try:
            passed = dkim.DKIM(message).verify(idx=index, dnsfunc=lookup)
            results.append('pass' if passed else 'fail')
        except dkim.DKIMException as error:
            results.append(str(error))
    return results


json.dump([verify(base64.b64decode(text)) for text in given['messages']], sys.stdout)
