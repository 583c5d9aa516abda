"""Draws pages of words as slides and screens have them, and writes their pixels and their texts.

python pictures.py <folder> <number of pages> <file with words> <folder of TrueType fonts>

Each page is <folder>/<number>.rgb. pages.json has {file, width, height, lines, turned} of each page.
"""

import glob
import json
import os
import random
import re
import sys

from PIL import Image, ImageDraw, ImageFilter, ImageFont

folder, count, words_file, fonts_folder = sys.argv[1:]
with open(words_file, encoding='utf8') as file:
    words = re.findall(r"[A-Za-z][A-Za-z'\u2019,.;:()-]{1,14}", file.read())
fonts = sorted(path for path in glob.glob(os.path.join(fonts_folder, '**/*.ttf'), recursive=True) if 'Math' not in path)
chance = random.Random(7)
pages = []
for number in range(int(count)):
    width, height = chance.choice([(1280, 720), (1920, 1080), (640, 360), (800, 600), (960, 540), (400, 800)])
    dark = chance.random() < 0.4
    back = tuple(chance.randint(0, 60) if dark else chance.randint(190, 255) for _ in range(3))
    ink = tuple(chance.randint(200, 255) if dark else chance.randint(0, 70) for _ in range(3))
    image = Image.new('RGB', (width, height), back)
    draw = ImageDraw.Draw(image)
    y = chance.randint(10, 40)
    lines = []
    while True:
        size = chance.choice([14, 16, 20, 24, 28, 36, 48] if width > 700 else [14, 16, 20, 24])
        if y + 1.6 * size > height:
            break
        font = ImageFont.truetype(chance.choice(fonts), size)
        x = chance.randint(10, width // 5)
        text = ''
        for _ in range(chance.randint(1, 9)):
            word = chance.choice(words) + (str(chance.randint(1, 999)) if chance.random() < 0.1 else '')
            longer = (text + ' ' + word).strip()
            if x + draw.textlength(longer, font=font) > width - 10:
                break
            text = longer
        if text:
            draw.text((x, y), text, font=font, fill=ink)
            lines.append(text)
        y += int(size * chance.uniform(1.5, 2.6))
    if chance.random() < 0.2:
        image = image.filter(ImageFilter.GaussianBlur(chance.uniform(0.3, 1.0)))
    if chance.random() < 0.25:
        image = image.rotate(chance.uniform(-4, 4), resample=Image.Resampling.BICUBIC, fillcolor=back)
    turned = chance.random() < 0.05
    if turned:
        image = image.rotate(180)
    path = os.path.join(folder, f'{number}.rgb')
    with open(path, 'wb') as file:
        file.write(image.tobytes())
    pages.append({'file': path, 'width': width, 'height': height, 'lines': lines, 'turned': turned})
with open(os.path.join(folder, 'pages.json'), 'w', encoding='utf8') as file:
    json.dump(pages, file)
