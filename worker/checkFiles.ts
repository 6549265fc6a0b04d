// Looks at the files that a worker needs, before it has begun anything: it meets them again only after its first work. What it has read is
// not kept: listeners read the files when they open, and again whenever they change.
import { openCertificate } from '../inbound/certificate.ts'
import { openSubmissionCertificate } from '../inbound/submission/listener.ts'
import type { Config } from '../runtime/config.ts'
import type { Log } from '../runtime/log.ts'
import { prepareFolder } from '../runtime/watchdog/stateFile.ts'

/** @throws StartError if the folder of state files or a certificate cannot be used */
export function checkFiles(
  config: Pick<Config, 'stateFolder' | 'inbound' | 'submission'>,
  log: Log,
): void {
  prepareFolder(config.stateFolder)
  if (config.inbound) openCertificate(config.inbound, log, 'INBOUND')
  if (config.submission) openSubmissionCertificate(config.submission, log)
}
