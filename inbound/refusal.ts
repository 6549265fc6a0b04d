// An error that the SMTP library turns into a reply other than 250.

export class SmtpRefusal extends Error {
  readonly responseCode: number

  /** @param message the enhanced status (RFC 3463) and the text */
  constructor(responseCode: number, message: string) {
    super(message)
    this.responseCode = responseCode
  }
}
