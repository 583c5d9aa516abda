// Sounds without a word: a transcription of them must be empty. They are the same each time.

const RATE = 16_000;

/** Returns values from −1 to 1, evenly distributed: the minimal standard generator of Park and Miller. */
function randomValues(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 16_807) % 2_147_483_647;
    return state / 1_073_741_823.5 - 1;
  };
}

function samplesOf(seconds: number, sample: (at: number) => number): Float32Array {
  return Float32Array.from({ length: Math.round(seconds * RATE) }, (_, at) => Math.min(1, Math.max(-1, sample(at))));
}

function whiteNoise(seconds: number, loudness: number): Float32Array {
  const random = randomValues(7);
  return samplesOf(seconds, () => loudness * random());
}

/** Noise with equal energy in each octave, by Paul Kellet's filter ("economy" version). */
function pinkNoise(seconds: number, loudness: number): Float32Array {
  const random = randomValues(11);
  let [low, middle, high] = [0, 0, 0];
  return samplesOf(seconds, () => {
    const white = random();
    low = 0.99765 * low + 0.099046 * white;
    middle = 0.963 * middle + 0.2965164 * white;
    high = 0.57 * high + 1.0526913 * white;
    return loudness * 0.2 * (low + middle + high + 0.1848 * white);
  });
}

/** The hum of a power supply and a little noise. */
function hum(seconds: number): Float32Array {
  const random = randomValues(13);
  return samplesOf(seconds, (at) => {
    const angle = (2 * Math.PI * 50 * at) / RATE;
    return 0.1 * Math.sin(angle) + 0.05 * Math.sin(3 * angle) + 0.002 * random();
  });
}

/** A tone of a second, a pause of two, as a telephone that rings. */
const ringing = (seconds: number): Float32Array =>
  samplesOf(seconds, (at) => (at % (3 * RATE) < RATE ? 0.3 * Math.sin((2 * Math.PI * 425 * at) / RATE) : 0));

const BEAT_S = 0.5;
/** Fundamental frequencies in Hz: C, G, A minor and F. */
const CHORDS = [
  [130.8, 261.6, 329.6, 392],
  [98, 246.9, 293.7, 392],
  [110, 261.6, 329.6, 440],
  [87.3, 261.6, 349.2, 440],
] as const;
const MELODY = [659.3, 784, 880, 784, 659.3, 587.3, 523.3, 587.3] as const;

/** A plucked tone: its overtones fade the faster, the higher they are. */
function tone(hz: number, sinceS: number): number {
  let sum = 0;
  for (let n = 1; n <= 6; n += 1)
    sum += (Math.sin(2 * Math.PI * hz * n * sinceS) / n) * Math.exp(-sinceS * (1 + n) * 1.2);
  return sum;
}

/** Four chords with a melody, a bass drum, a snare drum and a hi-hat, 120 beats a minute. */
function music(seconds: number): Float32Array {
  const random = randomValues(17);
  return samplesOf(seconds, (at) => {
    const time = at / RATE;
    const beat = Math.floor(time / BEAT_S);
    const sinceBeat = time - beat * BEAT_S;
    const sinceHalf = time % (BEAT_S / 2);
    const bar = Math.floor(beat / 4);
    const sinceBar = time - bar * 4 * BEAT_S;
    const chord = CHORDS[bar % CHORDS.length] ?? CHORDS[0];
    const harmony = chord.reduce<number>((sum, hz) => sum + tone(hz, sinceBar), 0);
    const melody = tone(MELODY[(beat + bar) % MELODY.length] ?? 0, sinceBeat);
    const kick = beat % 2 === 0 ? Math.sin(2 * Math.PI * 55 * sinceBeat) * Math.exp(-12 * sinceBeat) : 0;
    const snare = beat % 2 === 1 ? random() * Math.exp(-18 * sinceBeat) : 0;
    const hat = random() * Math.exp(-60 * sinceHalf);
    return 0.06 * harmony + 0.12 * melody + 0.4 * kick + 0.2 * snare + 0.08 * hat;
  });
}

/** Makes each sound of the given length, mono, 16 kHz. */
export const WORDLESS_SOUNDS = {
  silence: (seconds) => samplesOf(seconds, () => 0),
  'quiet white noise': (seconds) => whiteNoise(seconds, 0.001),
  'white noise': (seconds) => whiteNoise(seconds, 0.2),
  'quiet pink noise': (seconds) => pinkNoise(seconds, 0.005),
  'pink noise': (seconds) => pinkNoise(seconds, 0.6),
  'mains hum': hum,
  'a ringing telephone': ringing,
  'music without singing': music,
} satisfies Record<string, (seconds: number) => Float32Array>;
