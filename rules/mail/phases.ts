// The phases of an SMTP session, for the meaning of replies and for measured times.

/** AUTH counts as `ehlo`, RSET as `mail`. */
export type Phase =
  | 'connect'
  | 'banner'
  | 'ehlo'
  | 'tls'
  | 'mail'
  | 'rcpt'
  | 'data'
  | 'body'
  | 'dot'

const beforeMail: readonly Phase[] = ['connect', 'banner', 'ehlo', 'tls']

/** Whether the server has not heard of a mail yet: the phase is before MAIL. */
export const isBeforeMail = (phase: Phase): boolean => beforeMail.includes(phase)
