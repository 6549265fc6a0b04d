// Where in an SMTP session something happened: replies are judged by it, and times are kept by it.

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
