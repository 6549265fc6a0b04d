// A reply of the inbound listener other than 250, as the library takes it.

export class SmtpRefusal extends Error {
  readonly responseCode: number

  /** @param message the enhanced status (RFC 3463) and the text */
  constructor(responseCode: number, message: string) {
    super(message)
    this.responseCode = responseCode
  }
}
