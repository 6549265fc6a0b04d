// Checks before a start whether servers that the environment names answer.
import { connect } from 'node:net'
import pg from 'pg'

const ANSWER_WAIT_MS = 5_000
/** The oldest major version that the schema and the queries are written for. */
const POSTGRES_MIN = 15

interface Given {
  variable: string
  /** What it should look like, and how it has to begin. */
  shape: string
  begins: RegExp
  /** The port if the text has none. */
  port: number
  /** What is used without the variable. */
  instead: string
}

const servers: Given[] = [
  {
    variable: 'DATABASE_URL',
    shape: 'postgres://user:password@host:5432/database',
    begins: /^postgres(ql)?:\/\//,
    port: 5432,
    instead: 'its own Postgres',
  },
  {
    variable: 'TEMPORAL_ADDRESS',
    shape: 'host:7233',
    begins: /^[^/]+$/,
    port: 7233,
    instead: 'its own Temporal',
  },
  {
    variable: 'SMTP_URL',
    shape: 'smtp://user:password@host:587',
    begins: /^smtps?:\/\//,
    port: 587,
    instead: 'its own inbox',
  },
]

/** The two ways to write a Postgres URL whose host is the folder of a socket. */
const ofSocket = /^postgres(ql)?:\/\/([^?]*[?&]host=|[^/]*%2f)/i

/** Checks all given servers. @throws Error with one sentence about the first that does not answer */
export async function checkGiven(env: Record<string, string | undefined>): Promise<void> {
  for (const server of servers) {
    const given = env[server.variable]
    if (!given) continue
    const orNone = `or unset ${server.variable}, and npm start starts ${server.instead}`
    if (ofSocket.test(given)) continue
    const port = given.startsWith('smtps:') ? 465 : server.port
    const address = server.begins.test(given) ? addressOf(given, port) : undefined
    if (!address) {
      throw new Error(`${server.variable} must be like ${server.shape}: correct it, ${orNone}.`)
    }
    // Without a host pg uses a local socket.
    const fault = address.host === '' ? undefined : await reach(address)
    if (!fault) continue
    const where = `${address.host}:${address.port}`
    throw new Error(
      `${server.variable} names ${where}, and nobody answers there (${fault}): start that server, correct the address, ${orNone}.`,
    )
  }
  if (env['DATABASE_URL']) await checkDatabase(env['DATABASE_URL'])
}

/** @throws Error with one sentence when the server lets nobody in, is too old, or is no Postgres */
async function checkDatabase(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: ANSWER_WAIT_MS })
  // An end of the connection that comes later says nothing new.
  client.on('error', () => undefined)
  let fault: string | undefined
  try {
    await client.connect()
    const { rows } = await client.query<{ version: number }>(
      `select current_setting('server_version_num')::int / 10000 as version`,
    )
    const version = rows[0]?.version ?? 0
    if (version < POSTGRES_MIN) {
      fault = `it is Postgres ${version}, and ${POSTGRES_MIN} or newer is needed`
    }
  } catch (err) {
    fault = err instanceof Error ? err.message : String(err)
  } finally {
    // A server that is no Postgres never answers the goodbye either.
    void client.end().catch(() => undefined)
  }
  if (fault) {
    throw new Error(
      `The database of DATABASE_URL cannot be used (${fault}): correct DATABASE_URL, or unset it, ` +
        'and npm start starts its own Postgres.',
    )
  }
}

interface Address {
  host: string
  port: number
}

/**
 * Host and port of a URL or of `host:port`; undefined if the text is neither. The text may hold a password and
 * must not be shown.
 */
export function addressOf(given: string, port: number): Address | undefined {
  const url = given.includes('://') ? given : `tcp://${given}`
  if (!URL.canParse(url)) return undefined
  const { hostname, port: own } = new URL(url)
  return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(own || port) }
}

/** Tries to connect. @returns why it failed; undefined if it succeeded */
function reach({ host, port }: Address): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: ANSWER_WAIT_MS })
    const end = (fault?: string) => {
      socket.destroy()
      resolve(fault)
    }
    socket.once('connect', () => end())
    socket.once('timeout', () => end(`no answer in ${ANSWER_WAIT_MS / 1000} s`))
    socket.once('error', (err: NodeJS.ErrnoException) => end(err.code ?? err.message))
  })
}
