// The environment of a worker that delivers directly, to servers of the test.

/** @param names the address of the name server. @param port where the mail servers of all domains listen */
export const mxEnv = (names: { address: string }, port: number) => ({
  DELIVERY_MODE: 'mx',
  SMTP_URL: '',
  DNS_SERVERS: names.address,
  MX_PORT: String(port),
  ALLOW_PRIVATE_MX: 'true',
})
