// Test projects: unit (no servers), real (own Postgres, Temporal and SMTP), soak (long kill rounds).
import { defineConfig } from 'vitest/config'

const servers = {
  globalSetup: ['test/setup/globalSetup.ts'],
  testTimeout: 60_000,
  hookTimeout: 120_000,
  pool: 'forks' as const,
}

export default defineConfig({
  test: {
    // Most tests wait for servers: two files at a time on two cores, where vitest would run one.
    maxWorkers: 2,
    projects: [
      { test: { name: 'unit', include: ['test/unit/**/*.test.ts'], pool: 'forks' } },
      {
        test: {
          name: 'real',
          include: ['test/{db,api,workflows,e2e}/**/*.test.ts'],
          ...servers,
        },
      },
      {
        test: {
          name: 'soak',
          include: ['test/soak/**/*.test.ts'],
          ...servers,
          testTimeout: 3_600_000,
        },
      },
    ],
  },
})
