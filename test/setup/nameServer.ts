// Name servers for tests: nsd on a random port of 127.0.0.1 with zones from files, and one that answers only
// errors or nothing.
import { execFile } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { Resolver } from 'node:dns/promises'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { recordChild } from '../../dev/processes/children.ts'
import { randomPort } from '../../dev/processes/ports.ts'
import { type Child, lastLines, startChild } from '../../dev/processes/processes.ts'
import { eventually } from './eventually.ts'
import { createRunFolder, removeRunFolder, sweepRunFolders } from './runFolder.ts'

const INSTALLER = join(import.meta.dirname, '..', '..', 'dev', 'installNsd.mjs')
const LOOKS = 5
const ATTEMPTS = 5

/**
 * Zone → its records in master file form, without SOA and NS. Null: the server has the zone but cannot load it
 * (SERVFAIL). Names outside all zones are REFUSED.
 */
export type Zones = Record<string, string | null>

export interface NameServer {
  /** `127.0.0.1:port`, in the form of DNS_SERVERS. */
  address: string
  /** Changes the records of a zone. Resolves when they are served. */
  change(zone: string, records: string): Promise<void>
  /** Ends the process and removes its folder. */
  close(): Promise<void>
}

/** Starts nsd, and installs it if the machine has none. */
export async function startNameServer(zones: Zones): Promise<NameServer> {
  const { nsd, libraries } = await findNsd()
  await sweepRunFolders()
  const folder = createRunFolder()
  const serials = new Map<string, number>()
  const write = (zone: string, records: string) => {
    const serial = (serials.get(zone) ?? 0) + 1
    serials.set(zone, serial)
    writeFileSync(join(folder, `${zone}.zone`), zoneFile(zone, serial, records))
    return serial
  }
  for (const [zone, records] of Object.entries(zones)) if (records !== null) write(zone, records)

  for (let attempt = 1; ; attempt++) {
    const port = await randomPort()
    const config = join(folder, 'nsd.conf')
    writeFileSync(config, configFile(folder, port, Object.keys(zones)))
    const child = await startChild({
      name: 'nsd',
      command: nsd,
      args: ['-d', '-c', config],
      logFile: join(folder, 'nsd.log'),
      env: libraries ? { LD_LIBRARY_PATH: libraries } : {},
    })
    recordChild(join(folder, 'children'), child, ['SIGTERM'])
    const address = `127.0.0.1:${port}`
    const serves = (zone: string, serial: number) => untilServed(child, address, zone, serial)
    try {
      for (const [zone, serial] of serials) await serves(zone, serial)
      return {
        address,
        async change(zone, records) {
          const serial = write(zone, records)
          child.signal('SIGHUP')
          await serves(zone, serial)
        },
        async close() {
          await child.stop()
          removeRunFolder(folder)
        },
      }
    } catch (err) {
      await child.kill()
      if (attempt < ATTEMPTS && /address already in use/i.test(String(err))) continue
      removeRunFolder(folder)
      throw err
    }
  }
}

/** A name server that answers every question with an error code (RFC 1035: 1 FORMERR, 2 SERVFAIL), or never. */
export async function startBadNameServer(rcode: number | 'silent') {
  const socket = createSocket('udp4')
  let asked = 0
  socket.on('message', (query, from) => {
    asked += 1
    if (rcode === 'silent') return
    const answer = Buffer.from(query)
    // QR is set, the opcode kept; the rest of the flags is the code
    answer[2] = (answer[2] ?? 0) | 0x80
    answer[3] = rcode
    socket.send(answer, from.port, from.address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  return {
    address: `127.0.0.1:${socket.address().port}`,
    /** Questions so far. */
    asked: () => asked,
    close: () => new Promise<void>((resolve) => socket.close(() => resolve())),
  }
}

async function findNsd(): Promise<{ nsd: string; libraries: string }> {
  const { stdout } = await promisify(execFile)(process.execPath, [INSTALLER])
  return JSON.parse(stdout)
}

async function untilServed(child: Child, address: string, zone: string, serial: number) {
  // After a reload the old process may still answer for a moment, so several answers in a row have to agree.
  let agreed = 0
  await eventually(async () => {
    if (!child.alive()) return
    // A new resolver each time, because a resolver caches answers.
    const resolver = new Resolver({ timeout: 200, tries: 1 })
    resolver.setServers([address])
    const soa = await resolver.resolveSoa(zone)
    agreed = soa.serial === serial ? agreed + 1 : 0
    if (agreed < LOOKS) throw new Error(`nsd serves ${zone} ${soa.serial}, wanted ${serial}`)
  })
  if (!child.alive()) throw new Error(`nsd ended: ${lastLines(child.logFile)}`)
}

function zoneFile(zone: string, serial: number, records: string): string {
  return [
    `$ORIGIN ${zone}.`,
    '$TTL 60',
    `@ SOA ns.${zone}. hostmaster.${zone}. ${serial} 3600 600 86400 60`,
    `@ NS ns.${zone}.`,
    'ns A 127.0.0.1',
    ...records.split('\n').map((line) => line.trim()),
    '',
  ].join('\n')
}

function configFile(folder: string, port: number, zones: string[]): string {
  const state = join(folder, 'nsd')
  mkdirSync(state, { recursive: true })
  return [
    'server:',
    `  ip-address: 127.0.0.1@${port}`,
    '  server-count: 1',
    '  username: ""',
    `  zonesdir: "${folder}"`,
    `  xfrdir: "${state}"`,
    `  xfrdfile: "${state}/xfrd.state"`,
    `  zonelistfile: "${state}/zone.list"`,
    `  pidfile: "${state}/nsd.pid"`,
    '  database: ""',
    // tests ask faster than the rate limit of nsd allows
    '  rrl-ratelimit: 0',
    'remote-control:',
    '  control-enable: no',
    ...zones.flatMap((zone) => ['zone:', `  name: "${zone}"`, `  zonefile: "${zone}.zone"`]),
    '',
  ].join('\n')
}
