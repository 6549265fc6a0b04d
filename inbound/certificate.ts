// A listener's certificate and key, which are read again when their files change.
import { readFileSync, statSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import type { Config } from '../runtime/config.ts'
import type { Log } from '../runtime/log.ts'
import { StartError, textOf } from '../runtime/startFaults.ts'

export interface Certificate {
  cert: Buffer
  key: Buffer
}

type Files = Pick<NonNullable<Config['inbound']>, 'tlsCert' | 'tlsKey'>

/** The names of the two settings begin with this. */
type Settings = 'INBOUND' | 'SUBMISSION'

/**
 * Reads certificate and key. `renewed` gives new ones when a file has changed since: two looks at the file system,
 * cheap enough for each connection. While the new ones cannot be used (one of the files is not written yet) it gives
 * null, and the old ones stay in use.
 * @returns null when none is configured
 * @throws StartError when only one of the files is given, or one cannot be read or used
 */
export function openCertificate(
  { tlsCert, tlsKey }: Files,
  log: Pick<Log, 'info' | 'warn'>,
  settings: Settings = 'INBOUND',
): { first: Certificate; renewed: () => Certificate | null } | null {
  if (tlsCert === null && tlsKey === null) return null
  const names = `${settings}_TLS_CERT and ${settings}_TLS_KEY`
  if (tlsCert === null || tlsKey === null) {
    throw new StartError(`Only one of ${names} is set.`, 'They belong together: set both or none.')
  }
  const look = () => `${stateOf(tlsCert)} ${stateOf(tlsKey)}`
  const read = (): Certificate => {
    const certificate = { cert: readFileSync(tlsCert), key: readFileSync(tlsKey) }
    createSecureContext(certificate)
    return certificate
  }
  const readFirst = () => {
    try {
      return read()
    } catch (err) {
      throw new StartError(
        `The certificate of ${tlsCert} with the key of ${tlsKey} cannot be used: ${textOf(err)}`,
        `Set ${names} to files in PEM form that this user can read and that belong together${fallback(settings)}.`,
        { cause: err },
      )
    }
  }
  let seen = look()
  return {
    first: readFirst(),
    renewed() {
      const state = look()
      if (state === seen) return null
      seen = state
      try {
        const certificate = read()
        log.info('the certificate has changed and is in use')
        return certificate
      } catch (err) {
        log.warn({ err }, 'the changed certificate cannot be used; the one before stays')
        return null
      }
    },
  }
}

/** What stands for settings that are not set. */
const fallback = (settings: Settings) =>
  settings === 'SUBMISSION' ? ' (without them those of INBOUND_TLS_CERT and INBOUND_TLS_KEY)' : ''

/**
 * What changes when a file is written, or replaced by another (also by a link). `-` while there is none, and the code of
 * the error while the file system does not say: reading then fails too, and is tried again once that changes.
 */
function stateOf(file: string): string {
  try {
    const found = statSync(file, { throwIfNoEntry: false })
    return found ? `${found.ino}:${found.size}:${found.mtimeMs}` : '-'
  } catch (err) {
    return String((err as NodeJS.ErrnoException).code)
  }
}
