// The listener's certificate stays in use while the file system cannot say whether its files have changed.
import { rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { openCertificate } from '../../../inbound/certificate.ts'
import { anotherCertificate, certificateFiles } from './certificate.ts'

test('a fault of the file system is one line of the log, and the certificate before stays', () => {
  const { files } = certificateFiles()
  const lines: string[] = []
  const note = (...args: unknown[]) => void lines.push(String(args.at(-1)))
  const log = { info: note, warn: note } as unknown as Parameters<typeof openCertificate>[1]
  const opened = openCertificate({ tlsCert: files.cert, tlsKey: files.key }, log)
  rmSync(files.cert)
  symlinkSync(files.cert, files.cert)
  expect([opened?.renewed(), opened?.renewed()], 'ELOOP').toEqual([null, null])
  expect(lines).toEqual(['the changed certificate cannot be used; the one before stays'])
  rmSync(files.cert)
  writeFileSync(files.cert, anotherCertificate.cert)
  writeFileSync(files.key, anotherCertificate.key)
  expect(opened?.renewed()?.key.toString()).toBe(anotherCertificate.key)
})
