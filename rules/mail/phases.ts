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
