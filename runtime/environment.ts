// The environment variables of API and worker: what each may be, what it is when it is absent, and what it means.
// Long because it has every variable with its description.
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { tlsOfRelay } from '../rules/mail/relayUrl.ts'
import {
  address,
  dnsServers,
  domain,
  domains,
  fileName,
  flag,
  hostName,
  lanes,
  port,
  proxies,
  roles,
  secretKeys,
  secretUrl,
  temporalAddress,
  wholeNumber,
} from './configFields.ts'
import { retentionVariables } from './retentionVariables.ts'

/** `default`, where a default is made from other things, says in words what it is. */
const besides = (text: string) => ({ default_text: text })

const tlsOf = (url: string): string =>
  URL.canParse(url) ? (new URL(url).searchParams.get('tls') ?? '') : ''

/** Each variable with its description, which docs/operating.md shows in this order. */
export const Variables = z.object({
  DATABASE_URL: secretUrl(/^postgres(ql)?:\/\//, 'must start with postgres://').describe(
    'Postgres 15 or newer, as `postgres://user:password@host:5432/database`',
  ),
  SECRET_KEY: z
    .string()
    .refine((text) => Buffer.from(text, 'base64').length === 32, 'must be 32 bytes in base64')
    .describe(
      '32 bytes in base64 (`openssl rand -base64 32`). Encrypts DKIM keys and secrets; signs cursors, return paths and tracking links. The same for all processes',
    ),
  SECRET_KEY_PREVIOUS: secretKeys
    .default([])
    .describe(
      'Values that `SECRET_KEY` had before, separated by commas. What they encrypted is still decrypted: DKIM keys, secrets, and the key by which it is known who has left. What they signed is still recognised: return paths, tracking links, cursors. [How to change the key](#to-change-secret_key)',
    )
    .meta(besides('none')),
  DATABASE_POOL_SIZE: wholeNumber(2, 500)
    .default(20)
    .describe(
      'Connections in the pool of one process. Beside it the API opens 3, and a worker 3, 2 more with the role `executions`, and 1 for each lane that it holds',
    ),
  LOG_LEVEL: z
    .enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'])
    .default('info')
    .describe('Logs are JSON lines on stdout; lines below this level are left out'),
  HOST: z
    .string()
    .default('127.0.0.1')
    .describe('Address on which the process listens, for the API and for metrics'),
  PORT: port.default(3000).describe('API: its port. Worker: only to make `PUBLIC_URL`'),
  PUBLIC_URL: z
    .url({ protocol: /^https?$/, error: 'must be a URL that begins with http:// or https://' })
    .refine((url) => !/^[^/]*\/\/[^/?#]*@/.test(url), 'must not hold a user or a password')
    // Paths are put behind it.
    .refine((url) => !/[?#]/.test(url), 'must end with its host or a path, without ? and #')
    .transform((url) => url.replace(/\/+$/, ''))
    .optional()
    .describe(
      'Where recipients reach the API: stands in unsubscribe links and tracked links. API and worker',
    )
    .meta(besides('`http://HOST:PORT`')),
  API_METRICS_PORT: port
    .default(9463)
    .describe(
      'API: port of `/metrics` and `/healthz`. Its `/readyz` always says 200: ask that of `PORT`',
    ),
  METRICS_PORT: port.default(9464).describe('Worker: port of `/metrics`, `/healthz` and `/readyz`'),
  TEMPORAL_ADDRESS: temporalAddress
    .default('127.0.0.1:7233')
    .describe('Temporal server, `host:port`'),
  TEMPORAL_NAMESPACE: z.string().default('default').describe('Namespace; it must exist'),
  WORKER_ROLES: roles
    .default(['executions', 'delivery'])
    .describe('Worker: `executions` runs workflows and empties the outbox, `delivery` sends mail'),
  WORKER_NICE: wholeNumber(0, 19)
    .default(1)
    .describe(
      'Worker: how much it gives way to other processes of its machine (`nice`), so that an API there gets somewhat more of a full processor; 0: not at all',
    ),
  WORKER_STATE_DIR: z
    .string()
    .default(join(tmpdir(), `dripline-worker-${process.getuid?.() ?? 'all'}`))
    .describe(
      'Worker: folder where it writes what it is working on, so that what ended it is known after its end, and where large mail stands while its receiver is slow (4 GiB at most). Workers of one machine may share it; it must outlive the process',
    )
    .meta(besides('`dripline-worker-UID` in the folder of temporary files')),
  DELIVERY_LANES: lanes
    .default(1)
    .describe(
      'Worker: lanes that share the 64 shards of the ledger; each sends from one worker at a time',
    ),
  DELIVERY_MODE: z
    .enum(['relay', 'mx'])
    .default('relay')
    .describe(
      "Worker: `relay` sends all mail to `SMTP_URL`, `mx` to the recipients' own mail servers",
    ),
  SMTP_URL: secretUrl(/^smtps?:\/\//, 'must start with smtp:// or smtps://')
    .refine(
      (text) => !URL.canParse(text) || new URL(text).hostname !== '',
      'must name a host, as in smtp://host',
    )
    .refine(
      (text) => /^(off|required)?$/.test(tlsOf(text)),
      'must have tls=off, tls=required or no tls',
    )
    .refine(
      (text) => !URL.canParse(text) || !tlsOfRelay(new URL(text)).showsPassword,
      'has a password and tls=off, so anybody on the way could read it: leave out tls=off, or the password',
    )
    .optional()
    .describe(
      'The relay, as `smtp://user:password@host:587`. TLS is required unless the host is loopback; `?tls=off` or `?tls=required` says otherwise. Needed by API and worker in mode `relay`',
    ),
  SMTP_CONNECTIONS: wholeNumber(1, 500)
    .optional()
    .describe(
      'Worker: the most connections, to the relay or, in mode `mx`, to all destinations together; ten times as much mail is under way in a lane at once',
    )
    .meta(besides('`20`; with `mx` `100`')),
  RESEND_UNKNOWN: flag
    .default(true)
    .describe('Worker: send transactional mail whose outcome is unknown once more'),
  LEASE_SECONDS: wholeNumber(1, 3600)
    .default(120)
    .describe('Worker: how long the mail that a dead lane held waits before another lane takes it'),
  DRAIN_SECONDS: wholeNumber(0, 3600)
    .default(20)
    .describe(
      'Worker: how long it waits for mail under way when it is stopped; its supervisor must wait 10 s longer',
    ),
  LANE_TURN_SECONDS: wholeNumber(1, 3000)
    .default(1200)
    .describe('Worker: after this time a lane may move to another worker; shorter for tests'),
  WARM_UP: flag
    .optional()
    .describe(
      'Worker: let mail of new domains out in daily steps. A relay does that itself, so the default is by mode',
    )
    .meta(besides('`false`; with `mx` `true`')),
  ALLOW_UNVERIFIED_DOMAINS: flag
    .default(false)
    .describe(
      'API and worker: send from domains whose DNS records were never seen, on a closed network',
    ),
  SIMULATOR_DOMAIN: domain
    .default('simulator.test')
    .describe(
      'API and worker: the domain of [test addresses](sending.md#test-addresses). No mail to it ever leaves, so it must be nobody’s. The same for all processes; mail is a test by what it was when it was accepted',
    ),
  EHLO_NAME: hostName
    .default(hostname())
    .describe('Name that we give other mail servers in EHLO')
    .meta(besides('host name of the machine')),
  MAIL_HOST: hostName
    .optional()
    .describe('Host that takes bounces: the MX of every `bounces.<domain>`')
    .meta(
      besides('host of `PUBLIC_URL`, or `EHLO_NAME` where that is an IP address or `localhost`'),
    ),
  SPF_MECHANISM: z
    .string()
    .regex(/^[!-~]+$/, 'must be one mechanism of SPF, without spaces')
    .optional()
    .describe(
      'What the SPF records of sending domains allow, for example `include:spf.relay.example`',
    )
    .meta(besides('`a:` and the mail host')),
  DNS_SERVERS: dnsServers
    .default([])
    .describe(
      'Worker: resolvers for MX records, domain checks and requests of nodes, `ip` or `ip:port` with commas',
    )
    .meta(besides('those of the system')),
  MX_PORT: port
    .default(25)
    .describe('Worker: port of mail servers in mode `mx`; another one for tests'),
  ALLOW_PRIVATE_MX: flag
    .default(false)
    .describe(
      'Worker: send to private and loopback addresses in mode `mx`, which are refused otherwise',
    ),
  ALLOW_PRIVATE_HTTP: flag
    .default(false)
    .describe(
      'Worker: let `http_request` nodes call private and loopback addresses, which are refused otherwise. `npm start` sets it unless it is set',
    ),
  ALLOW_PRIVATE_WEBHOOKS: flag
    .default(false)
    .describe(
      'API and worker: let webhooks have http URLs, any port, and private and loopback addresses, which are refused otherwise. `npm start` sets it unless it is set',
    ),
  ...retentionVariables,
  INBOUND_PORT: port
    .optional()
    .describe('Worker: port where it takes bounces, complaints and unsubscribes by SMTP')
    .meta(besides('takes none')),
  INBOUND_HOST: z
    .string()
    .optional()
    .describe('Worker: address for `INBOUND_PORT`')
    .meta(besides('`HOST`')),
  INBOUND_TLS_CERT: fileName
    .optional()
    .describe('Worker: certificate file (PEM). With certificate and key, STARTTLS is offered'),
  INBOUND_TLS_KEY: fileName.optional().describe('Worker: key file (PEM) of that certificate'),
  FBL_ADDRESS: address
    .optional()
    .describe(
      'Worker with `INBOUND_PORT`: the mailbox that was registered with feedback loops; reports to it are taken',
    ),
  FBL_SIGNERS: domains
    .default([])
    .describe(
      'Worker with `INBOUND_PORT`: domains, with commas, with which feedback loops sign their reports (d= of DKIM), for example `arf.mail.yahoo.com`. Their word is taken for a mail that only its Message-ID names',
    )
    .meta(besides('none')),
  POSTMASTER: address
    .optional()
    .describe(
      'Worker with `INBOUND_PORT`: where mail for postmaster@ of `MAIL_HOST` and of sending domains is forwarded',
    )
    .meta(besides('it is refused')),
  SUBMISSION_PORT: port
    .optional()
    .describe('Worker: port where it takes mail to send by SMTP, from whoever shows an API key')
    .meta(besides('takes none')),
  SUBMISSION_HOST: z
    .string()
    .optional()
    .describe('Worker: address for `SUBMISSION_PORT` and `SUBMISSION_TLS_PORT`')
    .meta(besides('`HOST`')),
  SUBMISSION_TLS_PORT: port
    .optional()
    .describe('Worker with `SUBMISSION_PORT`: a second port, with TLS from the first byte')
    .meta(besides('none')),
  SUBMISSION_TLS_CERT: fileName
    .optional()
    .describe(
      'Worker: certificate file (PEM) for both. Without certificate and key, only clients on the same machine can log in',
    )
    .meta(besides('`INBOUND_TLS_CERT`')),
  SUBMISSION_TLS_KEY: fileName
    .optional()
    .describe('Worker: key file (PEM) of that certificate')
    .meta(besides('`INBOUND_TLS_KEY`')),
  TRUSTED_PROXIES: proxies
    .default([])
    .describe('API: addresses and networks, with commas, whose `X-Forwarded-For` is believed')
    .meta(besides('none')),
  UNSUBSCRIBE_LINK_MODE: z
    .enum(['direct', 'confirm'])
    .default('direct')
    .describe('API: `direct` unsubscribes who follows the link, `confirm` asks first'),
})
