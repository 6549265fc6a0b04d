// Parses the environment once into a frozen config, for servers and for command lines; all faults are listed together.
import { hostname } from 'node:os'
import { z } from 'zod'
import { dnsServers, flag, hostName, lanes, port, proxies, roles } from './configFields.ts'

const Env = z.object({
  LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
  DATABASE_URL: z.string().regex(/^postgres(ql)?:\/\//, 'must start with postgres://'),
  DATABASE_POOL_SIZE: z.coerce.number().int().min(2).max(500).default(20),
  HOST: z.string().default('127.0.0.1'),
  PORT: port.default(3000),
  PUBLIC_URL: z
    .url({ protocol: /^https?$/ })
    .transform((url) => url.replace(/\/+$/, ''))
    .optional(),
  API_METRICS_PORT: port.default(9463),
  METRICS_PORT: port.default(9464),
  SECRET_KEY: z
    .string()
    .refine((text) => Buffer.from(text, 'base64').length === 32, 'must be 32 bytes in base64'),
  TEMPORAL_ADDRESS: z.string().default('127.0.0.1:7233'),
  TEMPORAL_NAMESPACE: z.string().default('default'),
  WORKER_ROLES: roles.default(['executions', 'delivery']),
  DELIVERY_MODE: z.enum(['relay', 'mx']).default('relay'),
  SMTP_URL: z
    .string()
    .regex(/^smtps?:\/\//, 'must start with smtp:// or smtps://')
    .optional(),
  SMTP_CONNECTIONS: z.coerce.number().int().min(1).max(500).optional(),
  DNS_SERVERS: dnsServers.default([]),
  MX_PORT: port.default(25),
  ALLOW_PRIVATE_MX: flag.default(false),
  EHLO_NAME: hostName.default(hostname()),
  MAIL_HOST: hostName.optional(),
  SPF_MECHANISM: z
    .string()
    .regex(/^[!-~]+$/, 'must be one mechanism of SPF, without spaces')
    .optional(),
  DELIVERY_LANES: lanes.default(1),
  ALLOW_UNVERIFIED_DOMAINS: flag.default(false),
  WARM_UP: flag.default(true),
  INBOUND_HOST: z.string().optional(),
  INBOUND_PORT: port.optional(),
  INBOUND_TLS_CERT: z.string().optional(),
  INBOUND_TLS_KEY: z.string().optional(),
  TRUSTED_PROXIES: proxies.default([]),
  UNSUBSCRIBE_LINK_MODE: z.enum(['direct', 'confirm']).default('direct'),
  RESEND_UNKNOWN: flag.default(true),
  LEASE_SECONDS: z.coerce.number().int().min(1).max(3600).default(120),
})

const CompleteEnv = Env.refine((env) => env.DELIVERY_MODE === 'mx' || env.SMTP_URL !== undefined, {
  path: ['SMTP_URL'],
  error: 'is needed in the delivery mode relay',
  // said beside the other faults
  when: () => true,
})

/** What a command line may need; each reads no more than it names, so that a fault elsewhere does not stop it. */
const operatorSettings = {
  databaseUrl: { name: 'DATABASE_URL', schema: Env.shape.DATABASE_URL },
  temporalAddress: { name: 'TEMPORAL_ADDRESS', schema: Env.shape.TEMPORAL_ADDRESS },
  temporalNamespace: { name: 'TEMPORAL_NAMESPACE', schema: Env.shape.TEMPORAL_NAMESPACE },
  /** undefined: not said here, so that nothing can be compared with it. */
  deliveryLanes: { name: 'DELIVERY_LANES', schema: lanes.optional() },
} as const

type OperatorSetting = keyof typeof operatorSettings
type OperatorConfig<K extends OperatorSetting> = {
  readonly [Name in K]: z.infer<(typeof operatorSettings)[Name]['schema']>
}

export type Config = Readonly<ReturnType<typeof toConfig>>

type Environment = Record<string, string | undefined>

/** Thrown with one line for each fault of the environment. */
export class ConfigError extends Error {}

/**
 * Reads a config from environment variables.
 * @throws ConfigError that lists every variable that is missing or wrong
 */
export function parseConfig(env: Environment): Config {
  return Object.freeze(toConfig(parse(CompleteEnv, env)))
}

/** The same for a process that is about to start: on faults it says them and exits 1. */
export function readConfig(env: Environment): Config {
  return orExit(() => parseConfig(env), 'The README lists all variables.')
}

/**
 * The settings of a command line, by their names in the config.
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

/** The same for a command line that is about to run: on faults it says them and what to do, and exits 1. */
export function readOperatorConfig<K extends OperatorSetting>(
  env: Environment,
  settings: readonly K[],
): OperatorConfig<K> {
  const hint = 'Run this with the environment of the API or of a worker; the README lists it.'
  return orExit(() => parseOperatorConfig(env, settings), hint)
}

/** A variable that is set to nothing counts as missing. */
function parse<S extends z.ZodType>(schema: S, env: Environment): z.infer<S> {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''))
  const parsed = schema.safeParse(given)
  if (parsed.success) return parsed.data
  const faults = parsed.error.issues.map((issue) => {
    const name = issue.path.join('.')
    return `  ${name}: ${given[name] === undefined ? 'is missing' : issue.message}`
  })
  throw new ConfigError(`The environment is not complete:\n${faults.join('\n')}`)
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

function toConfig(env: z.infer<typeof Env>) {
  return {
    logLevel: env.LOG_LEVEL,
    databaseUrl: env.DATABASE_URL,
    databasePoolSize: env.DATABASE_POOL_SIZE,
    host: env.HOST,
    port: env.PORT,
    /** Where recipients reach the public links; without a trailing slash. */
    publicUrl: env.PUBLIC_URL ?? `http://${env.HOST}:${env.PORT}`,
    apiMetricsPort: env.API_METRICS_PORT,
    /** Of a worker: metrics, healthz and readyz. */
    metricsPort: env.METRICS_PORT,
    secretKey: Buffer.from(env.SECRET_KEY, 'base64'),
    temporalAddress: env.TEMPORAL_ADDRESS,
    temporalNamespace: env.TEMPORAL_NAMESPACE,
    workerRoles: env.WORKER_ROLES,
    deliveryMode: env.DELIVERY_MODE,
    /** Of the relay; '' in mode `mx`, which needs none. */
    smtpUrl: env.SMTP_URL ?? '',
    /** To the relay; in mode `mx` to all destinations together, about. */
    smtpConnections: env.SMTP_CONNECTIONS ?? (env.DELIVERY_MODE === 'mx' ? 100 : 10),
    dnsServers: env.DNS_SERVERS,
    mxPort: env.MX_PORT,
    allowPrivateMx: env.ALLOW_PRIVATE_MX,
    ehloName: env.EHLO_NAME,
    /** The host that takes bounces: the MX of every MAIL FROM domain; null: derived from PUBLIC_URL. */
    mailHost: env.MAIL_HOST ?? null,
    /** What of SPF lets this service send, for example `include:spf.relay.example`; null: `a:` and the mail host. */
    spfMechanism: env.SPF_MECHANISM ?? null,
    deliveryLanes: env.DELIVERY_LANES,
    allowUnverifiedDomains: env.ALLOW_UNVERIFIED_DOMAINS,
    /** Whether mail of a new domain is let out by the ladder of its warm-up. */
    warmUp: env.WARM_UP,
    /** Where bounces and complaints come in by SMTP; null: this worker takes none. */
    inbound:
      env.INBOUND_PORT === undefined
        ? null
        : {
            host: env.INBOUND_HOST ?? env.HOST,
            port: env.INBOUND_PORT,
            /** Files in PEM form; both or none. */
            tlsCert: env.INBOUND_TLS_CERT ?? null,
            tlsKey: env.INBOUND_TLS_KEY ?? null,
          },
    /** Addresses and networks (CIDR) whose X-Forwarded-For is believed. */
    trustedProxies: env.TRUSTED_PROXIES,
    unsubscribeLinkMode: env.UNSUBSCRIBE_LINK_MODE,
    resendUnknown: env.RESEND_UNKNOWN,
    leaseMs: env.LEASE_SECONDS * 1000,
  }
}
