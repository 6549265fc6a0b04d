// Parses the environment into a frozen config, for servers and for command lines. All faults are listed together.
import { z } from 'zod'
import { type RetentionDays, retentionNames } from '../rules/retention.ts'
import { lanes } from './configFields.ts'
import { Variables } from './environment.ts'
import { givenRetentionVariables } from './retentionVariables.ts'

const CompleteEnv = Variables.refine(
  (env) => env.DELIVERY_MODE === 'mx' || env.SMTP_URL !== undefined,
  {
    path: ['SMTP_URL'],
    error: 'is needed in the delivery mode relay',
    // Checked even if other variables are wrong, so that all faults are listed.
    when: () => true,
  },
)

/**
 * Settings of command lines. Each reads only those that it names, so that a fault in another variable does not
 * stop it.
 */
const operatorSettings = {
  databaseUrl: { name: 'DATABASE_URL', schema: Variables.shape.DATABASE_URL },
  secretKey: { name: 'SECRET_KEY', schema: Variables.shape.SECRET_KEY },
  secretKeysPrevious: {
    name: 'SECRET_KEY_PREVIOUS',
    schema: Variables.shape.SECRET_KEY_PREVIOUS,
  },
  temporalAddress: { name: 'TEMPORAL_ADDRESS', schema: Variables.shape.TEMPORAL_ADDRESS },
  temporalNamespace: { name: 'TEMPORAL_NAMESPACE', schema: Variables.shape.TEMPORAL_NAMESPACE },
  /** undefined: not set here, so it cannot be compared with the running lanes. */
  deliveryLanes: { name: 'DELIVERY_LANES', schema: lanes.optional() },
  deliveryMode: { name: 'DELIVERY_MODE', schema: Variables.shape.DELIVERY_MODE },
  /** undefined: as the mode has it (`warmsUp`). */
  warmUp: { name: 'WARM_UP', schema: Variables.shape.WARM_UP },
  /** How long what grows is kept: each by the name of its variable; undefined: as workers have it. */
  ...(Object.fromEntries(
    retentionNames.map((name) => [name, { name, schema: givenRetentionVariables[name] }]),
  ) as {
    [N in keyof typeof givenRetentionVariables]: {
      name: N
      schema: (typeof givenRetentionVariables)[N]
    }
  }),
} as const

type OperatorSetting = keyof typeof operatorSettings
type OperatorConfig<K extends OperatorSetting> = {
  readonly [Name in K]: z.infer<(typeof operatorSettings)[Name]['schema']>
}

export type Config = Readonly<ReturnType<typeof toConfig>>

type Environment = Record<string, string | undefined>

/** The environment has faults; the message has one line for each. */
export class ConfigError extends Error {}

/**
 * Reads a config from environment variables.
 * @throws ConfigError that lists every variable that is missing or wrong
 */
export function parseConfig(env: Environment): Config {
  return Object.freeze(toConfig(parse(CompleteEnv, env)))
}

/** Like `parseConfig`, for a process that starts: prints the faults and exits 1. */
export function readConfig(env: Environment): Config {
  return orExit(() => parseConfig(env), 'docs/operating.md lists all variables.')
}

/**
 * Reads the settings of a command line, by their names in the config.
 * @throws ConfigError that lists every one of them that is missing or wrong
 */
export function parseOperatorConfig<K extends OperatorSetting>(
  env: Environment,
  settings: readonly K[],
): OperatorConfig<K> {
  const shape = Object.fromEntries(
    settings.map((setting) => [operatorSettings[setting].name, operatorSettings[setting].schema]),
  )
  const parsed = parse(z.object(shape), env)
  const config = settings.map((setting) => [setting, parsed[operatorSettings[setting].name]])
  return Object.freeze(Object.fromEntries(config)) as OperatorConfig<K>
}

/** Like `parseOperatorConfig`, for a command line that starts: prints the faults and what to do, and exits 1. */
export function readOperatorConfig<K extends OperatorSetting>(
  env: Environment,
  settings: readonly K[],
): OperatorConfig<K> {
  const hint =
    'Run this with the environment of the API or of a worker; docs/operating.md lists it.'
  return orExit(() => parseOperatorConfig(env, settings), hint)
}

/** A variable that is set to an empty text counts as missing. */
function parse<S extends z.ZodType>(schema: S, env: Environment): z.infer<S> {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''))
  const parsed = schema.safeParse(given)
  if (parsed.success) return parsed.data
  const faults = parsed.error.issues.map((issue) => {
    // Further parts of the path are places in a list.
    const name = String(issue.path[0])
    return `  ${name}: ${given[name] === undefined ? 'is missing' : issue.message}`
  })
  throw new ConfigError(`The environment is not complete:\n${[...new Set(faults)].join('\n')}`)
}

function orExit<T>(read: () => T, hint: string): T {
  try {
    return read()
  } catch (err) {
    if (!(err instanceof ConfigError)) throw err
    process.stderr.write(`${err.message}\n${hint}\n`)
    process.exit(1)
  }
}

function toConfig(env: z.infer<typeof Variables>) {
  return {
    logLevel: env.LOG_LEVEL,
    databaseUrl: env.DATABASE_URL,
    databasePoolSize: env.DATABASE_POOL_SIZE,
    host: env.HOST,
    port: env.PORT,
    /** Where recipients reach the public links; without a trailing slash. */
    publicUrl: env.PUBLIC_URL ?? `http://${env.HOST}:${env.PORT}`,
    apiMetricsPort: env.API_METRICS_PORT,
    /** The port of a worker for metrics, healthz and readyz. */
    metricsPort: env.METRICS_PORT,
    secretKey: Buffer.from(env.SECRET_KEY, 'base64'),
    secretKeysPrevious: env.SECRET_KEY_PREVIOUS.map((key) => Buffer.from(key, 'base64')),
    temporalAddress: env.TEMPORAL_ADDRESS,
    temporalNamespace: env.TEMPORAL_NAMESPACE,
    workerRoles: env.WORKER_ROLES,
    /** The priority of a worker's process, as `nice` counts: 0 is that of all others, 19 the lowest. */
    workerNice: env.WORKER_NICE,
    /** Where a worker writes what it is working on. */
    stateFolder: env.WORKER_STATE_DIR,
    deliveryMode: env.DELIVERY_MODE,
    /** URL of the relay; '' in mode `mx`, which needs none. */
    smtpUrl: env.SMTP_URL ?? '',
    /** Connections to the relay; in mode `mx` about so many to all destinations together. */
    smtpConnections: env.SMTP_CONNECTIONS ?? (env.DELIVERY_MODE === 'mx' ? 100 : 20),
    dnsServers: env.DNS_SERVERS,
    mxPort: env.MX_PORT,
    allowPrivateMx: env.ALLOW_PRIVATE_MX,
    allowPrivateHttp: env.ALLOW_PRIVATE_HTTP,
    allowPrivateWebhooks: env.ALLOW_PRIVATE_WEBHOOKS,
    /** How long what grows is kept, by setting. */
    retentionDays: retentionDaysOf(env),
    ehloName: env.EHLO_NAME,
    /** The host that takes bounces: the MX of every MAIL FROM domain; null: derived from PUBLIC_URL. */
    mailHost: env.MAIL_HOST ?? null,
    /** The SPF mechanism that allows this service to send; null: `a:` and the mail host. */
    spfMechanism: env.SPF_MECHANISM ?? null,
    deliveryLanes: env.DELIVERY_LANES,
    allowUnverifiedDomains: env.ALLOW_UNVERIFIED_DOMAINS,
    /** The domain of test addresses, in lower case. */
    simulatorDomain: env.SIMULATOR_DOMAIN,
    /** Whether the warm-up limits how much mail a new domain sends each day. */
    warmUp: warmsUp(env.WARM_UP, env.DELIVERY_MODE),
    /** Where bounces and complaints arrive by SMTP; null: this worker does not listen for them. */
    inbound: toInbound(env),
    /** Where customers submit mail by SMTP; null: this worker does not listen for it. */
    submission: toSubmission(env),
    /** Variables that are set and mean nothing without INBOUND_PORT, which is not. */
    unusedInbound: unusedInbound(env),
    /** Addresses and networks (CIDR) of proxies whose X-Forwarded-For header is trusted. */
    trustedProxies: env.TRUSTED_PROXIES,
    unsubscribeLinkMode: env.UNSUBSCRIBE_LINK_MODE,
    resendUnknown: env.RESEND_UNKNOWN,
    leaseMs: env.LEASE_SECONDS * 1000,
    drainMs: env.DRAIN_SECONDS * 1000,
    laneTurnMs: env.LANE_TURN_SECONDS * 1000,
  }
}

function retentionDaysOf(env: z.infer<typeof Variables>): RetentionDays {
  return Object.fromEntries(retentionNames.map((name) => [name, env[name]])) as RetentionDays
}

/** Whether new domains warm up. A relay has warmed up its own addresses, and counts what each domain sends. */
export function warmsUp(given: boolean | undefined, mode: 'relay' | 'mx'): boolean {
  return given ?? mode === 'mx'
}

/** How a worker listens for bounces and complaints; null: it does not. */
function toInbound(env: z.infer<typeof Variables>) {
  if (env.INBOUND_PORT === undefined) return null
  return {
    host: env.INBOUND_HOST ?? env.HOST,
    port: env.INBOUND_PORT,
    /** Files in PEM form; both or none. */
    tlsCert: env.INBOUND_TLS_CERT ?? null,
    tlsKey: env.INBOUND_TLS_KEY ?? null,
    /** The mailbox of feedback loops; null: there is none. */
    fblAddress: env.FBL_ADDRESS ?? null,
    /** The d= of loops whose signed reports may name a mail by its Message-ID. In lower case. */
    fblSigners: env.FBL_SIGNERS,
    /** Where the postmaster's mail goes; null: it is refused. */
    postmaster: env.POSTMASTER ?? null,
  }
}

/** How a worker listens for mail that is submitted; null: it does not. */
function toSubmission(env: z.infer<typeof Variables>) {
  if (env.SUBMISSION_PORT === undefined) return null
  const hasOwn = env.SUBMISSION_TLS_CERT !== undefined || env.SUBMISSION_TLS_KEY !== undefined
  return {
    host: env.SUBMISSION_HOST ?? env.HOST,
    port: env.SUBMISSION_PORT,
    /** With TLS from the first byte; null: there is none. */
    tlsPort: env.SUBMISSION_TLS_PORT ?? null,
    /** Files in PEM form; both or none. */
    tlsCert: (hasOwn ? env.SUBMISSION_TLS_CERT : env.INBOUND_TLS_CERT) ?? null,
    tlsKey: (hasOwn ? env.SUBMISSION_TLS_KEY : env.INBOUND_TLS_KEY) ?? null,
  }
}

function unusedInbound(env: z.infer<typeof Variables>): string[] {
  if (env.INBOUND_PORT !== undefined) return []
  return [
    ...(env.FBL_ADDRESS === undefined ? [] : ['FBL_ADDRESS']),
    ...(env.FBL_SIGNERS.length === 0 ? [] : ['FBL_SIGNERS']),
    ...(env.POSTMASTER === undefined ? [] : ['POSTMASTER']),
  ]
}
