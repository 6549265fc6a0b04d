// Small reports, for tests in which the form of a report does not matter.

/** A report of delivery status (RFC 3464) with one group of fields. */
export function statusReport(fields: Record<string, string> = {}): string {
  const group = {
    'Final-Recipient': 'rfc822; somebody@elsewhere.test',
    Action: 'failed',
    Status: '5.1.1',
    'Diagnostic-Code': 'smtp; 550 5.1.1 no such user here',
    ...fields,
  }
  return report('delivery-status', [
    'Content-Type: message/delivery-status',
    '',
    'Reporting-MTA: dns; mx.remote.test',
    '',
    ...Object.entries(group).map(([name, value]) => `${name}: ${value}`),
  ])
}

/** A complaint as a feedback loop sends it (RFC 5965). */
export function feedbackReport(type = 'abuse'): string {
  return report('feedback-report', [
    'Content-Type: message/feedback-report',
    '',
    `Feedback-Type: ${type}`,
    'User-Agent: Loop/1.0',
    'Version: 1',
  ])
}

function report(type: string, part: string[]): string {
  return [
    'From: Mail Delivery System <mailer-daemon@remote.test>',
    'To: undisclosed-recipients:;',
    'Subject: A report',
    'MIME-Version: 1.0',
    `Content-Type: multipart/report; report-type=${type}; boundary="=_b"`,
    '',
    '--=_b',
    'Content-Type: text/plain',
    '',
    'Something became of a mail.',
    '',
    '--=_b',
    ...part,
    '',
    '--=_b--',
    '',
  ].join('\r\n')
}

/** A bounce notice with the given lines as its only part, which may be malformed. */
export const rawReport = (
  lines: string[],
  head = 'multipart/report; report-type=delivery-status; boundary=b',
) =>
  [
    'From: mailer-daemon@remote.test',
    'Subject: Undelivered mail',
    `Content-Type: ${head}`,
    '',
    '--b',
    ...lines,
    '--b--',
    '',
  ].join('\r\n')
/** A bounce notice with a delivery status part of these groups of lines. */
export const rawStatus = (...groups: string[][]) =>
  rawReport([
    'Content-Type: message/delivery-status',
    '',
    'Reporting-MTA: dns; mx.test',
    ...groups.flatMap((group) => ['', ...group]),
  ])
