// docker-compose.yml: valid by the Compose Specification's schema, healthy in order, without a secret in it.
import { readFileSync } from 'node:fs'
import { Ajv, type ValidateFunction } from 'ajv'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { JEMALLOC_CONF } from '../../../dev/servers/allocator.ts'
import { Variables } from '../../../runtime/environment.ts'

interface Service {
  image?: string
  build?: string
  restart?: string
  container_name?: string
  command?: string[]
  ports?: string[]
  environment?: Record<string, string | number>
  depends_on?: Record<string, { condition: string }>
  healthcheck?: { test: string[] }
  volumes?: string[]
  profiles?: string[]
}

const root = new URL('../../../', import.meta.url)
const text = readFileSync(new URL('docker-compose.yml', root), 'utf8')
const compose = parse(text, { merge: true }) as { services: Record<string, Service> }
const services = Object.entries(compose.services)
const jobs = ['temporal-schema', 'temporal-namespace', 'migrate']

/** The schema of the Compose Specification (Apache-2.0, Copyright 2020 The Compose Specification Authors). */
function composeSchema(): ValidateFunction {
  const file = new URL('test/golden/compose-spec.json', root)
  // An `id` that is a text is the old form of `$id`; nothing refers to one.
  const schema = JSON.parse(readFileSync(file, 'utf8'), (key, value) =>
    key === '$schema' || (key === 'id' && typeof value === 'string') ? undefined : value,
  )
  const ajv = new Ajv({ strict: false, allErrors: true })
  // Formats that the specification defines.
  ajv.addFormat('duration', /^(\d+(\.\d+)?(us|ms|s|m|h))+$/)
  ajv.addFormat('expose', /^\d+(-\d+)?(\/[a-z]+)?$/)
  ajv.addFormat('ports', /^([\w.:${}-]+:)?\d+(\/[a-z]+)?$/)
  ajv.addFormat('subnet_ip_address', /^[\d.]+\/\d+$/)
  return ajv.compile(schema)
}

/** The services that a service needs, directly or through others. */
function needs(name: string): string[] {
  const direct = Object.keys(compose.services[name]?.depends_on ?? {})
  return [...direct, ...direct.flatMap(needs)]
}

describe('docker-compose.yml', () => {
  test('is valid by the schema; the schema finds faults', () => {
    const validate = composeSchema()
    expect(validate(compose), JSON.stringify(validate.errors)).toBe(true)
    expect(validate({ services: { api: { imagee: 'x' } } })).toBe(false)
    expect(validate({ services: { api: { image: 'x', healthcheck: { interval: '5' } } } })).toBe(
      false,
    )
  })

  test('has all parts', () => {
    const names = services.map(([name]) => name).sort()
    const parts = ['api', 'inbound', 'inbox', 'postgres', 'temporal', 'temporal-ui', 'worker']
    expect(names).toEqual([...parts, ...jobs].sort())
  })

  test.each(services)('%s has a health check, or is a job that ends', (name, service) => {
    if (jobs.includes(name)) {
      expect(service.restart).toBe('on-failure')
      expect(service.healthcheck).toBeUndefined()
    } else {
      expect(service.restart).toBe('unless-stopped')
      expect(service.healthcheck?.test[0]).toBe('CMD')
    }
  })

  test.each(services)(
    '%s waits for services to be healthy and for jobs to be done',
    (_, service) => {
      for (const [name, { condition }] of Object.entries(service.depends_on ?? {})) {
        expect(compose.services).toHaveProperty(name)
        const wanted = jobs.includes(name) ? 'service_completed_successfully' : 'service_healthy'
        expect(condition, name).toBe(wanted)
      }
    },
  )

  test('api and worker start after the schema and the namespace are there', () => {
    for (const name of ['api', 'inbound', 'worker']) {
      expect(needs(name)).toEqual(expect.arrayContaining(['postgres', 'temporal', ...jobs]))
    }
  })

  test('every secret is required and none has a default', () => {
    const secrets = services.flatMap(([, { environment }]) =>
      Object.entries(environment ?? {}).filter(([name]) => /SECRET|PASSWORD|PWD/.test(name)),
    )
    expect(secrets.map(([name]) => name)).toContain('SECRET_KEY')
    for (const [name, value] of secrets) {
      // Keys of before: none, unless the key was changed.
      if (name === 'SECRET_KEY_PREVIOUS') {
        expect(value).toBe(`\${${name}:-}`)
        continue
      }
      expect(String(value), name).toMatch(/^\$\{(SECRET_KEY|POSTGRES_PASSWORD):\?[^}]+\}$/)
    }
    for (const [, { environment }] of services) {
      const url = environment?.['DATABASE_URL']
      if (url)
        expect(String(url)).toMatch(/^postgres:\/\/dripline:\$\{POSTGRES_PASSWORD:\?[^}]+\}@/)
    }
  })

  test('several workers can run: they have no fixed name and no port', () => {
    const worker = compose.services['worker']
    expect(worker?.container_name).toBeUndefined()
    expect(worker?.ports).toBeUndefined()
  })

  test('only the API, the listener and the two pages are published, by default on loopback', () => {
    const published = services.filter(([, { ports }]) => ports)
    expect(published.map(([name]) => name).sort()).toEqual([
      'api',
      'inbound',
      'inbox',
      'temporal-ui',
    ])
    for (const port of published.flatMap(([, { ports }]) => ports ?? [])) {
      expect(port).toMatch(/^(\$\{(INBOUND|SUBMISSION|SUBMISSION_TLS)_BIND:-)?127\.0\.0\.1:/)
    }
  })

  test('the inbox is for a try alone: nothing needs it, and where mail goes has no default', () => {
    expect(compose.services['inbox']?.profiles).toEqual(['try'])
    expect(services.filter(([name]) => needs(name).includes('inbox'))).toEqual([])
    for (const name of ['api', 'worker', 'inbound']) {
      expect(compose.services[name]?.environment?.['SMTP_URL'], name).toMatch(
        /^\$\{SMTP_URL\?[^}]+\}$/,
      )
    }
  })

  test('every variable is passed on or fixed, but for a few', () => {
    const passed = services.flatMap(([, { environment }]) => Object.keys(environment ?? {}))
    const left = Object.keys(Variables.shape).filter((name) => !passed.includes(name))
    // As their defaults are, as the image has it, or for tests; DRAIN_SECONDS belongs to stop_grace_period.
    const others = ['API_METRICS_PORT', 'WORKER_NICE', 'WORKER_STATE_DIR', 'DRAIN_SECONDS']
    const ofTests = ['LANE_TURN_SECONDS', 'MX_PORT']
    expect(left.sort()).toEqual([...others, ...ofTests, 'SUBMISSION_HOST'].sort())
  })

  test('the API is healthy while Temporal is away', () => {
    expect(compose.services['api']?.healthcheck?.test.join(' ')).toContain('/healthz')
  })

  test('every image has a version', () => {
    for (const [name, { image, build }] of services) {
      if (!build) expect(image, name).toMatch(/:\d[\w.-]*$/)
    }
  })
})

describe('Dockerfile', () => {
  const dockerfile = readFileSync(new URL('Dockerfile', root), 'utf8')

  test('has stages on a glibc image and runs as an ordinary user', () => {
    const bases = [...dockerfile.matchAll(/^FROM (\S+)/gm)].map((match) => match[1])
    expect(bases.length).toBeGreaterThan(1)
    for (const base of bases) expect(base).toMatch(/-bookworm-slim$/)
    const last = dockerfile.slice(dockerfile.lastIndexOf('\nFROM '))
    expect(last).toMatch(/^USER node$/m)
    // The kernel ignores a SIGKILL that process 1 sends itself, as a worker does that hangs.
    expect(last).toMatch(/^ENTRYPOINT \["tini", "--"\]$/m)
    expect(last).not.toMatch(/npm|COPY \. /)
  })

  test('holds what the services of the compose file run', () => {
    const scripts = services
      .flatMap(([, { command }]) => command ?? [])
      .filter((arg) => /^dist\//.test(arg))
    expect([...new Set(scripts)]).toEqual([
      'dist/operate/migrate.js',
      'dist/api/main.js',
      'dist/worker/main.js',
    ])
    expect(dockerfile).toMatch(/npm run build/)
  })

  test('names the ports of the API, of its metrics and of those of workers', () => {
    const { PORT, API_METRICS_PORT, METRICS_PORT } = Variables.shape
    const ports = [PORT, API_METRICS_PORT, METRICS_PORT].map((port) => port.parse(undefined))
    expect(dockerfile).toContain(`\nEXPOSE ${ports.join(' ')}\n`)
  })

  test('has jemalloc, with the settings that `npm start` and the benchmarks have', () => {
    const last = dockerfile.slice(dockerfile.lastIndexOf('\nFROM '))
    // Without a folder, which has another name on each kind of processor.
    expect(last).toMatch(/^ENV LD_PRELOAD=libjemalloc\.so\.2 /m)
    expect(last).toContain(` MALLOC_CONF=${JEMALLOC_CONF}\n`)
    expect(last).not.toMatch(/MALLOC_\w+_=/)
    // The library has to be there before a process names it.
    const installed = last.search(/apt-get install .* libjemalloc2 /)
    expect(installed).toBeGreaterThan(0)
    expect(installed).toBeLessThan(last.indexOf('ENV LD_PRELOAD'))
  })
})
