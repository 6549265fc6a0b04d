# Sends a mail with Python's smtplib as Django does: AUTH, a message made by the email package. Prints the reply's text.
import json
import smtplib
import sys
from email.message import EmailMessage

given = json.load(sys.stdin)
message = EmailMessage()
message["From"] = "Jörg Python <hello@sender.test>"
message["To"] = "ada@example.test"
message["Bcc"] = "quiet@example.test"
message["Subject"] = "Grüße aus Python"
message["X-Dripline-Options"] = json.dumps({"tags": {"client": "smtplib"}, "metadata": {"long": "x" * 200}})
message.set_content("Grüße\n.\n..\nEnde\n")
message.add_alternative("<p>Grüße</p>\n", subtype="html")
message.add_attachment(b"\x00\x01\xff", maintype="application", subtype="octet-stream", filename="a.bin")


class Client(smtplib.SMTP):
    def data(self, text):
        code, reply = super().data(text)
        print(reply.decode())
        return code, reply


with Client("127.0.0.1", given["port"]) as client:
    client.login("apikey", given["key"])
    client.send_message(message)
