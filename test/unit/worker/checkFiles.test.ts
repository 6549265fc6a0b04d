// What a worker refuses before it waits for the database.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createLog } from '../../../runtime/log.ts'
import { checkFiles } from '../../../worker/checkFiles.ts'
import { certificateFiles } from '../inbound/certificate.ts'

test('a port for TLS without a certificate', () => {
  const stateFolder = mkdtempSync(join(tmpdir(), 'dripline-check-'))
  onTestFinished(() => rmSync(stateFolder, { recursive: true }))
  const check = (tlsCert: string | null, tlsKey: string | null) =>
    checkFiles(
      {
        stateFolder,
        inbound: null,
        submission: { host: '127.0.0.1', port: 0, tlsPort: 0, tlsCert, tlsKey },
      },
      createLog('test', 'silent'),
    )
  expect(() => check(null, null)).toThrow('SUBMISSION_TLS_PORT is set without a certificate')
  const { files } = certificateFiles()
  expect(() => check(files.cert, null)).toThrow('Only one of')
  check(files.cert, files.key)
})
