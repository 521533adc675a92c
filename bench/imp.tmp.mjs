const E=["effect/Effect","effect/Schema","effect/Stream","effect/ai/LanguageModel","effect/ai/Tool","effect/ai/Toolkit"]
const {createRequire}=await import("node:module")
await Promise.all(E.map(x=>import(x)))
const t=performance.now()
await import(process.argv[2])
console.log((performance.now()-t).toFixed(1))
