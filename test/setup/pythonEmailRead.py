# Reads the messages on stdin (base64 in a JSON list) with the email package, and prints what a reader sees of each.
import base64
import email
import email.header
import email.policy
import email.utils
import json
import sys


# The newer policy puts spaces between the encoded words of a name, so names are read by the older one.
def name_of(given):
    name, _ = email.utils.parseaddr(email.message_from_bytes(given)['from'])
    return str(email.header.make_header(email.header.decode_header(name)))


def read(given):
    message = email.message_from_bytes(given, policy=email.policy.default)
    return {
        'headers': [[name, str(value)] for name, value in message.items()],
        'name': name_of(given),
        'files': [part.get_filename() for part in message.walk() if part.get_content_disposition()],
    }


json.dump([read(base64.b64decode(one)) for one in json.load(sys.stdin)], sys.stdout)
